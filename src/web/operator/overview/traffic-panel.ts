import type { FleetJson } from '../../../wire/fleet.ts'
import { html } from '../../html.ts'
import { Chart, formatCount, formatMs, formatShare, shareOf } from '../chart.ts'

export function TrafficPanel({ fleet: { traffic } }: { fleet: FleetJson }) {
  const { total, minutes, from } = traffic
  const hitShares = minutes.lookups.map((lookups, n) => shareOf(minutes.hits[n]!, lookups))
  return html`<section id="traffic" aria-labelledby="traffic-title">
    <h2 id="traffic-title">Traffic of the last 60 minutes</h2>
    <p>
      ${formatCount(total.requests)} requests · ${formatCount(total.errors)} errors
      ${total.p50_ms !== null && ` · p50 ${formatMs(total.p50_ms)} · p95 ${formatMs(total.p95_ms!)}`}
      ${total.lookups > 0 && ` · ${formatShare(total.hits / total.lookups)} from the response cache`}
    </p>
    <div class="charts">
      <${Chart}
        title="Requests per minute"
        values=${minutes.requests}
        part=${minutes.errors}
        partTitle="errors" partName="errors"
        format=${formatCount}
        from=${from}
      />
      <${Chart}
        title="Latency, p95 over p50"
        values=${minutes.p95_ms}
        part=${minutes.p50_ms}
        partTitle="p50"
        format=${formatMs}
        from=${from}
      />
      <${Chart} title="From the response cache" values=${hitShares} max=${1} format=${formatShare} from=${from} />
    </div>
    <p class="hint">
      Routes with a read or write gate, of all replicas shown below. Errors are status 500 and above. Latencies are rounded
      up by at most a fifth.
    </p>
  </section>`
}
