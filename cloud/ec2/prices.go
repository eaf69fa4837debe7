package ec2

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed zz_generated.prices.csv
var priceList string

// priced is when the price lists were made from which the built-in prices are generated, as the
// lists themselves say.
var priced = map[string]string{Region: "2026-07-06", "us-gov-east-1": "2026-06-15", "us-gov-west-1": "2026-06-15", "cn-north-1": "2024-11-06"}

// PricedOn is the day of a region's built-in prices, such as 2026-07-06; empty if it has none.
func PricedOn(region string) string { return priced[region] }

// OnDemand are the on-demand prices for Linux in a region by type, nil if they are not known: in
// US dollars per hour, in China in yuan. What a list lacks is not sold there. The result is shared
// and must not be modified.
func OnDemand(region string) (map[string]float64, error) {
	byRegion, err := onDemand()
	return byRegion[region], err
}

var onDemand = sync.OnceValues(func() (map[string]map[string]float64, error) {
	all, err := Types()
	if err != nil {
		return nil, err
	}
	home := make(map[string]float64, len(all))
	for i := range all {
		home[all[i].Name] = all[i].OnDemand
	}
	out := map[string]map[string]float64{Region: home}
	rows, err := csv.NewReader(strings.NewReader(priceList)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("reading the list of EC2 prices: %w", err)
	}
	for column, region := range slices.All(rows[0][1:]) {
		out[region] = map[string]float64{}
		for line, row := range rows[1:] {
			if row[1+column] == "" {
				continue
			}
			if out[region][row[0]], err = strconv.ParseFloat(row[1+column], 64); err != nil {
				return nil, fmt.Errorf("reading the list of EC2 prices: line %d: %s: %w", line+2, region, err)
			}
		}
	}
	return out, nil
})
