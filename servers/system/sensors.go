package system

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/shirou/gopsutil/v4/sensors"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/typed"
)

const (
	sensorsChars = 3000
	sensorsTime  = 5 * time.Second // some drivers are slow to answer
)

type sensorsOutput struct {
	Readings []reading `json:"readings" jsonschema:"what the sensors say; empty where the system gives none"`
}

type reading struct {
	Kind  string  `json:"kind" jsonschema:"temperature, fan or battery"`
	Name  string  `json:"name" jsonschema:"name of the sensor"`
	Value float64 `json:"value" jsonschema:"degrees Celsius, turns a minute, or percent"`
	High  float64 `json:"high,omitempty" jsonschema:"from where it is too hot"`
	State string  `json:"state,omitempty" jsonschema:"of a battery: Charging, Discharging, Full"`
}

func addSensors(srv *mcp.Server) {
	typed.Add(srv, spec{
		Name: "get_sensors", Title: "Sensors",
		Description: "Returns the temperatures of this machine, on Linux its fans and batteries too, as far as the system gives them. Virtual machines and containers mostly have none.",
	}, readSensors)
}

func readSensors(ctx context.Context, _ noInput) (string, sensorsOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, sensorsTime)
	defer cancel()
	out := sensorsOutput{Readings: []reading{}}
	found, err := sensors.TemperaturesWithContext(ctx) // an error may come with readings
	for _, s := range found {
		if s.Temperature != 0 {
			out.Readings = append(out.Readings, reading{Kind: "temperature", Name: plain(s.SensorKey, 60), Value: s.Temperature, High: max(s.High, 0)})
		}
	}
	out.Readings = append(out.Readings, fansAndBatteries(os.DirFS("/"))...)
	const most = 60
	out.Readings = out.Readings[:min(most, len(out.Readings))]
	if len(out.Readings) > 0 {
		return sensorsText(out), out, nil
	}
	why := "Virtual machines and containers mostly have none."
	if err != nil {
		why = "The system says: " + plain(err.Error(), 200) + "."
	}
	return "## Sensors\n\nThe system gives no sensors. " + why + "\n", out, nil
}

// fansAndBatteries reads what Linux shows of them.
func fansAndBatteries(root fs.FS) []reading {
	var all []reading
	fans, err := fs.Glob(root, "sys/class/hwmon/hwmon*/fan*_input")
	if err != nil {
		return nil
	}
	slices.Sort(fans)
	for _, f := range fans {
		n, err := strconv.ParseFloat(word(root, f), 64)
		if err != nil {
			continue
		}
		label := word(root, strings.TrimSuffix(f, "_input")+"_label")
		if label == "" {
			label = strings.TrimSuffix(path.Base(f), "_input")
		}
		all = append(all, reading{Kind: "fan", Name: plain(word(root, path.Join(path.Dir(f), "name"))+" "+label, 60), Value: n})
	}
	supplies, err := fs.Glob(root, "sys/class/power_supply/*/capacity")
	if err != nil {
		return all
	}
	for _, f := range supplies {
		if n, err := strconv.ParseFloat(word(root, f), 64); err == nil {
			dir := path.Dir(f)
			all = append(all, reading{Kind: "battery", Name: plain(path.Base(dir), 60), Value: n, State: plain(word(root, dir+"/status"), 20)})
		}
	}
	return all
}

func word(root fs.FS, name string) string {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func sensorsText(out sensorsOutput) string {
	rows := make([][]string, 0, len(out.Readings))
	for _, r := range out.Readings {
		value, note := "", r.State
		switch r.Kind {
		case "temperature":
			value = fmt.Sprintf("%.1f °C", r.Value)
			if r.High > 0 && r.Value >= r.High {
				note = "too hot"
			}
		case "fan":
			value = fmt.Sprintf("%.0f rpm", r.Value)
		case "battery":
			value = fmt.Sprintf("%.0f %%", r.Value)
		}
		rows = append(rows, []string{r.Kind, r.Name, value, note})
	}
	const title = "## Sensors\n\n"
	return title + answer.Table([]string{"kind", "name", "value", "note"}, rows, sensorsChars-len(title))
}
