// Package nodeoverlay keeps the conditions of NodeOverlays up to date: which count, and what is
// wrong with the others. It runs where Karpenter's feature gate NodeOverlay is on.
//
// What an overlay does is engine/catalog's, and cluster.Store applies those that are Ready. One
// of the same weight may contradict another over the types of any pool, so all are looked at
// whenever one of them or a pool changes.
package nodeoverlay
