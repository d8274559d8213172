import { html } from '../html.ts'

const WIDTH = 100
const HEIGHT = 24
const MARGIN = 2

type SparklineProps = {
  label: string
  /** Oldest first; `null` leaves a gap. */
  values: readonly (number | null)[]
  /** At the upper edge; default: the largest. */
  most?: number
}

export function Sparkline({ label, values, most }: SparklineProps) {
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

/** A value without a neighbour becomes a dot. */
function pathOf(values: readonly (number | null)[], top: number): string {
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
