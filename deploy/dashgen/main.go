// Command dashgen writes Grafana's dashboards of the chart from the queries in this package.
//
// Its argument is the folder to write them to.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// dashboard is one file: its name, its title and its rows.
type dashboard struct {
	name, title string
	sections    []section
}

type section struct {
	title  string
	panels []panel
}

// panel shows queries. Kind is Grafana's type of a panel, unit Grafana's name of a unit.
type panel struct {
	title, description, kind, unit string
	queries                        []query
}

// query is a PromQL expression and the legend of each of its series.
type query struct{ expr, legend string }

// object is of JSON; its keys are written in order.
type object map[string]any

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: dashgen FOLDER")
		os.Exit(2)
	}
	for name, text := range files() {
		if err := os.WriteFile(filepath.Join(os.Args[1], name), text, 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(1)
		}
	}
}

// files are the dashboards by file name.
func files() map[string][]byte {
	out := map[string][]byte{}
	for _, d := range dashboards {
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(d.json()); err != nil {
			panic(err) // maps and strings can be encoded
		}
		out[d.name+".json"] = text.Bytes()
	}
	return out
}

// Sizes in Grafana's grid, which is 24 wide.
const (
	width, height         = 8, 8
	statWidth, statHeight = 6, 4
	gridWidth             = 24
)

func (d dashboard) json() object {
	g := grid{}
	var panels []object
	for _, s := range d.sections {
		panels = append(panels, object{"type": "row", "title": s.title, "id": g.next(), "collapsed": false, "panels": []any{}, "gridPos": g.row()})
		for _, p := range s.panels {
			panels = append(panels, p.json(&g))
		}
	}
	return object{
		"title": d.title, "uid": "millwright-" + d.name, "tags": []string{"millwright", "karpenter"},
		"timezone": "browser", "schemaVersion": 39, "version": 1, "refresh": "1m",
		"time": object{"from": "now-6h", "to": "now"}, "annotations": object{"list": []any{}},
		"templating": object{"list": []object{
			{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source", "current": object{}},
			{
				"name": "nodepool", "type": "query", "label": "NodePool", "datasource": source(), "refresh": 2,
				"query": "label_values(karpenter_nodepools_usage, nodepool)", "includeAll": true, "allValue": ".*", "multi": true,
				"current": object{"text": "All", "value": "$__all"},
			},
		}},
		"panels": panels,
	}
}

func source() object { return object{"type": "prometheus", "uid": "${datasource}"} }

func (p panel) json(g *grid) object {
	w, h := width, height
	options := object{"legend": object{"displayMode": "list", "placement": "bottom"}, "tooltip": object{"mode": "multi"}}
	if p.kind == "stat" {
		w, h = statWidth, statHeight
		options = object{"reduceOptions": object{"calcs": []string{"lastNotNull"}}}
	}
	var targets []object
	for i, q := range p.queries {
		targets = append(targets, object{"refId": string(rune('A' + i)), "expr": q.expr, "legendFormat": q.legend})
	}
	return object{
		"type": p.kind, "title": p.title, "description": p.description, "id": g.next(), "datasource": source(),
		"gridPos": g.place(w, h), "options": options, "targets": targets,
		"fieldConfig": object{"defaults": object{"unit": p.unit}, "overrides": []any{}},
	}
}

// grid places panels from left to right and from top to bottom.
type grid struct{ id, x, y, line int }

func (g *grid) next() int {
	g.id++
	return g.id
}

func (g *grid) row() object {
	g.x, g.y, g.line = 0, g.y+g.line, 0
	at := object{"x": 0, "y": g.y, "w": gridWidth, "h": 1}
	g.y++
	return at
}

func (g *grid) place(w, h int) object {
	if g.x+w > gridWidth {
		g.x, g.y, g.line = 0, g.y+g.line, 0
	}
	at := object{"x": g.x, "y": g.y, "w": w, "h": h}
	g.x, g.line = g.x+w, max(g.line, h)
	return at
}
