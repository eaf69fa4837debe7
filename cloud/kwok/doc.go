// Package kwok holds instance catalogues: EC2's types ([EC2Catalogue]), KWOK's
// made-up ones ([KWOKCatalogue]) and files in KWOK's format ([ReadCatalogue]).
package kwok
