import type { FleetJson } from '../../wire/fleet.ts'
import { html } from '../html.ts'

type Values = readonly (number | null)[]

/** @param words of what is counted, and of its cache */
export function TrafficCharts({ traffic, words }: { traffic: FleetJson['traffic']; words: ChartWords }) {
  const { minutes, from } = traffic
  const hitShares = minutes.lookups.map((lookups, n) => (lookups === 0 ? null : minutes.hits[n]! / lookups))
  return html`<div class="columns">
    <${Chart} title=${words.count} values=${minutes.requests} part=${minutes.errors} partName="errors" format=${formatCount} from=${from} />
    <${Chart} title=${words.latency} values=${minutes.p95_ms} part=${minutes.p50_ms} partName="p50" format=${formatMs} from=${from} />
    <${Chart} title=${words.hits} values=${hitShares} max=${1} format=${formatShare} from=${from} />
  </div>`
}

type ChartWords = Readonly<Record<'count' | 'latency' | 'hits', string>>

type ChartProps = {
  title: string
  /** One for each minute, oldest first; `null` and 0 have no bar. */
  values: Values
  /** A part of each value, drawn over it. */
  part?: Values
  partName?: 'p50' | 'errors'
  format: (value: number) => string
  /** The value at the upper edge; the largest by default. */
  max?: number
  /** Start of the first minute, ISO 8601. */
  from: string
}

/** Bars by the minute, with axes. Minutes show their values to the mouse, and the largest is in the text. */
function Chart({ title, values, part, partName, format, max, from }: ChartProps) {
  const top = topOf(values, max)
  const timeOf = (minute: number): string => clockTime(Date.parse(from) + minute * 60_000)
  const largest = Math.max(0, ...numbersIn(values))
  const summary =
    largest === 0
      ? 'none in 60 minutes'
      : `highest ${format(largest)} at ${timeOf(values.indexOf(largest))}, latest ${format(numbersIn(values).at(-1)!)}`
  const valueText = (value: number | null, n: number): string => {
    const partText = part?.[n] == null ? '' : `, ${partName} ${format(part[n])}`
    return `${timeOf(n)}: ${value === null ? 'none' : format(value)}${partText}`
  }
  const minutes = values.map(
    (value, n) =>
      html`<rect key=${n} class="minute" x=${n} y="0" width="1" height="100"><title>${valueText(value, n)}</title></rect>`,
  )
  return html`<figure class="chart">
    <figcaption>${title} <span class="hint">${summary}</span></figcaption>
    ${
      largest > 0 &&
      html`<div class="plot">
      <span class="axis">${format(top)}</span>
      <span class="axis">0</span>
      <svg role="img" aria-label=${`${title}: ${summary}`} viewBox=${`0 0 ${values.length} 100`} preserveAspectRatio="none">
        <${Bars} values=${values} top=${top} />
        ${part !== undefined && html`<${Bars} values=${part} top=${top} name=${partName} />`} ${minutes}
      </svg>
      <span class="axis">${timeOf(0)}</span>
      <span class="axis">${timeOf(values.length - 1)}</span>
    </div>`
    }
  </figure>`
}

/** A small chart without axes, for tables: its text is beside it. */
export const Sparkbars = ({ values, max }: { values: Values; max?: number }) =>
  html`<svg class="sparkbars" aria-hidden="true" viewBox=${`0 0 ${values.length} 100`} preserveAspectRatio="none">
    <${Bars} values=${values} top=${topOf(values, max)} />
  </svg>`

function Bars({ values, top, name }: { values: Values; top: number; name?: string }) {
  const path = values.map((value, n) => {
    if (!value) return ''
    const height = Math.max(LEAST_HEIGHT, (Math.min(value, top) / top) * 100)
    return `M${n + 0.1} 100V${(100 - height).toFixed(1)}h0.8V100Z`
  })
  return html`<path class=${`bars ${name ?? ''}`} d=${path.join('')} />`
}

/** Of the 100 units of the height: a rare event has to be seen. */
const LEAST_HEIGHT = 3

const numbersIn = (values: Values): number[] => values.filter((value) => value !== null)

const topOf = (values: Values, max?: number): number => max ?? Math.max(1, ...numbersIn(values))

/** Local. */
function clockTime(ms: number): string {
  return new Date(ms).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
}

export const formatCount = (value: number): string => value.toLocaleString('en')

export const formatMs = (value: number): string =>
  value < 10_000 ? `${formatCount(value)} ms` : `${Math.round(value / 1000)} s`

export const formatShare = (value: number): string => `${Math.round(100 * value)} %`
