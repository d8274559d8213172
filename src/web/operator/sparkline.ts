import { html } from '../html.ts'

const WIDTH = 100
const HEIGHT = 24
/** Keeps the line's own width within the picture. */
const MARGIN = 2

type SparklineProps = {
  /** What it shows, for who does not see it. */
  label: string
  /** Oldest first; `null` leaves a gap. */
  values: readonly (number | null)[]
  /** Value at the upper edge; default: the largest. */
  most?: number
}

/** A line without axes: how something went, newest on the right. */
export const Sparkline = ({ label, values, most }: SparklineProps) => {
  const known = values.filter((value) => value !== null)
  const top = most ?? Math.max(...known, 1)
  return html`<svg
    class="sparkline"
    role="img"
    aria-label=${label}
    viewBox=${`0 0 ${WIDTH} ${HEIGHT}`}
    preserveAspectRatio="none"
  >
    <path d=${pathOf(values, top)} />
  </svg>`
}

/** A line to each value whose neighbour is known, and a dot of a line to one that has none. */
const pathOf = (values: readonly (number | null)[], top: number): string => {
  const step = WIDTH / Math.max(values.length - 1, 1)
  let isDrawing = false
  let path = ''
  for (const [n, value] of values.entries()) {
    if (value !== null) {
      const y = HEIGHT - MARGIN - (Math.min(value, top) / top) * (HEIGHT - 2 * MARGIN)
      path += `${isDrawing ? 'L' : 'M'}${(n * step).toFixed(1)} ${y.toFixed(1)}${isDrawing ? '' : 'h1'}`
    }
    isDrawing = value !== null
  }
  return path
}
