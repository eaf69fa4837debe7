// Package picture draws what was measured: boards of lines over time, as a dashboard shows
// them, and bars beside each other. The same data is the same SVG, byte for byte.
package picture

import (
	"fmt"
	"image/color"
	"io"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Panel is one diagram of a board. X is in seconds from the beginning.
type Panel struct {
	Title, Unit string
	Series      []Series
}

// Series is a line.
type Series struct {
	Name   string
	Points plotter.XYs
}

// Bars is one diagram of values beside each other, each with its name.
type Bars struct {
	Title  string
	Names  []string
	Values []float64
}

const (
	wide, high = 9 * vg.Centimeter, 5.5 * vg.Centimeter
	// legible is how many series a panel names; the others are drawn all the same.
	legible = 6
	// longest is how far apart two points of a line may be, in seconds.
	longest = 2.5
)

// Board draws panels in columns, all over the same time, which is in seconds.
func Board(w io.Writer, columns int, duration float64, panels []Panel) error {
	plots := make([]*plot.Plot, len(panels))
	for i, panel := range panels {
		p := framed(panel.Title)
		p.X.Label.Text, p.Y.Label.Text = "s", panel.Unit
		p.Add(plotter.NewGrid())
		low, high := 0.0, 0.0
		for j, s := range panel.Series {
			for k, part := range unbroken(s.Points) {
				line, err := plotter.NewLine(part)
				if err != nil {
					return fmt.Errorf("panel %s, %s: %w", panel.Title, s.Name, err)
				}
				line.Color, line.Width = plotutil.DefaultColors[j%len(plotutil.DefaultColors)], 1.2
				p.Add(line)
				if k == 0 && j < legible && s.Name != "" {
					p.Legend.Add(s.Name, line)
				}
			}
			for _, point := range s.Points {
				low, high = min(low, point.Y), max(high, point.Y)
			}
		}
		names := float64(min(len(panel.Series), legible))
		p.X.Min, p.X.Max = 0, duration
		p.Y.Min, p.Y.Max = low, high+(max(high-low, 1e-3)*0.1*names) // room for the names
		plots[i] = p
	}
	return write(w, columns, plots)
}

// unbroken are the parts of a line between gaps.
func unbroken(points plotter.XYs) []plotter.XYs {
	var out []plotter.XYs
	for i, p := range points {
		if i == 0 || p.X-points[i-1].X > longest {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], p)
	}
	return out
}

// Beside draws diagrams of bars in one row.
func Beside(w io.Writer, diagrams []Bars) error {
	plots := make([]*plot.Plot, len(diagrams))
	for i, d := range diagrams {
		p := framed(d.Title)
		p.Y.Min = 0
		p.Y.Max = 1.15 * slices.Max(d.Values) // room for the figures
		for j, value := range d.Values {
			bar, err := plotter.NewBarChart(plotter.Values{value}, 1.2*vg.Centimeter)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", d.Title, d.Names[j], err)
			}
			bar.XMin, bar.Color, bar.LineStyle.Width = float64(j), beside[j%len(beside)], 0
			p.Add(bar)
		}
		figures, err := labels(d.Values)
		if err != nil {
			return err
		}
		p.Add(figures)
		p.NominalX(d.Names...)
		p.X.Min, p.X.Max = -0.8, float64(len(d.Values))-0.2
		plots[i] = p
	}
	return write(w, len(plots), plots)
}

// beside are the colours of bars: what is compared with, and what is compared.
var beside = [...]color.Color{color.Gray{Y: 160}, color.RGBA{R: 46, G: 110, B: 184, A: 255}}

// labels are the figures above bars.
func labels(values []float64) (*plotter.Labels, error) {
	at := plotter.XYLabels{}
	for i, v := range values {
		at.XYs = append(at.XYs, plotter.XY{X: float64(i), Y: v})
		at.Labels = append(at.Labels, fmt.Sprintf("%g", v))
	}
	figures, err := plotter.NewLabels(at)
	if err != nil {
		return nil, err
	}
	figures.Offset.Y = 3
	for i := range figures.TextStyle {
		figures.TextStyle[i].XAlign, figures.TextStyle[i].Font.Size = draw.XCenter, 8
	}
	return figures, nil
}

func framed(title string) *plot.Plot {
	p := plot.New()
	p.Title.Text = title
	p.Title.TextStyle.Font.Size, p.Title.Padding = 10, 4
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font.Size, axis.Tick.Label.Font.Size = 8, 8
	}
	p.Legend.TextStyle.Font.Size, p.Legend.Top = 7, true
	return p
}

func write(w io.Writer, columns int, plots []*plot.Plot) error {
	rows := (len(plots) + columns - 1) / columns
	canvas := vgsvg.New(vg.Length(columns)*wide, vg.Length(rows)*high)
	all := draw.New(canvas)
	tiles := draw.Tiles{Rows: rows, Cols: columns, PadX: 6, PadY: 6, PadLeft: 4, PadRight: 4, PadTop: 4, PadBottom: 4}
	for i, p := range plots {
		p.Draw(tiles.At(all, i%columns, i/columns))
	}
	_, err := canvas.WriteTo(w)
	return err
}
