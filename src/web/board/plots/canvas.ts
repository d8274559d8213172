import { useEffect, useRef, useState } from 'preact/hooks'
import type UPlot from 'uplot'
import { html } from '../../html.ts'

type Pens = {
  colours: { text: string; grid: string; dot: string; bar: string; mark: string }
  bars: UPlot.Series.PathBuilder
  text: string
}

type Drawing = {
  data: [number[], number[]]
  scales: UPlot.Scales
  series: UPlot.Series[]
  /** At x = 0, 1, 2 and so on. */
  labels: readonly string[]
  isLogarithmic: boolean
  marks: readonly { at: number; value: number }[]
  text: string
}

export type Draw = (pens: Pens) => Drawing

const HEIGHT = 210

export function Canvas({ draw, label }: { draw: Draw; label: string }) {
  const container = useRef<HTMLDivElement>(null)
  const theme = useTheme()
  useEffect(() => {
    const element = container.current
    if (element === null) return
    let plot: UPlot | null = null
    let isClosed = false
    const resized = new ResizeObserver(() => plot?.setSize({ width: element.clientWidth, height: HEIGHT }))
    // Loaded on first use: the table does not wait for it.
    import('uplot').then(({ default: Plot }) => {
      if (isClosed) return
      const pens = pensOf(element, Plot)
      const drawing = draw(pens)
      plot = new Plot(optionsOf(drawing, pens, element.clientWidth), drawing.data, element)
      resized.observe(element)
    })
    return () => {
      isClosed = true
      resized.disconnect()
      plot?.destroy()
    }
  }, [draw, theme])
  return html`<div class="canvas" ref=${container} role="img" aria-label=${label}></div>`
}

const DARK = matchMedia('(prefers-color-scheme: dark)')

/** A canvas does not follow the style sheet, so a new theme redraws it. */
function useTheme(): boolean {
  const [isDark, setDark] = useState(DARK.matches)
  useEffect(() => {
    const update = (): void => setDark(DARK.matches)
    DARK.addEventListener('change', update)
    return () => DARK.removeEventListener('change', update)
  }, [])
  return isDark
}

function pensOf(element: HTMLElement, Plot: typeof UPlot): Pens {
  const style = getComputedStyle(element)
  const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim()
  return {
    colours: {
      text: colour('muted'),
      grid: colour('line'),
      dot: colour('plot'),
      bar: colour('plot'),
      mark: colour('text'),
    },
    bars: Plot.paths.bars!({ size: [0.6, 64] }),
    text: `11px ${style.fontFamily}`,
  }
}

function optionsOf(drawing: Drawing, { colours }: Pens, width: number): UPlot.Options {
  const axis = { stroke: colours.text, font: drawing.text, ticks: { show: false } }
  const longest = Math.max(0, ...drawing.labels.map(({ length }) => length))
  const isTight = (longest + 1) * CHAR_PX * drawing.labels.length > width - VALUES_PX
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: drawing.scales,
    series: drawing.series,
    axes: [
      {
        ...axis,
        grid: { show: false },
        splits: () => drawing.labels.map((_, at) => at),
        values: () => [...drawing.labels],
        rotate: isTight ? -40 : 0,
        size: isTight ? 64 : 30,
      },
      {
        ...axis,
        grid: { stroke: colours.grid, width: 1 },
        size: VALUES_PX,
        ...(drawing.isLogarithmic ? { splits: (_, __, least, most) => decades(least, most) } : {}),
        values: (_, splits) => splits.map(tickText),
      },
    ],
    hooks: { draw: [(plot) => strokeMarks(plot, drawing, colours.mark)] },
  }
}

const CHAR_PX = 6.5
const VALUES_PX = 56

/** Powers of ten; in a narrow range also 2 and 5 times each. */
function decades(least: number, most: number): number[] {
  const [from, to] = [Math.floor(Math.log10(least)), Math.ceil(Math.log10(most))]
  const factors = to - from > 3 ? [1] : [1, 2, 5]
  return Array.from({ length: to - from + 1 }, (_, n) => factors.map((factor) => factor * 10 ** (from + n)))
    .flat()
    .filter((value) => value >= least && value <= most)
}

function tickText(value: number | null): string {
  if (value === null) return ''
  return value < COMPACT_BELOW ? COMPACT.format(value) : value.toExponential(0)
}

const COMPACT_BELOW = 1e15
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

function strokeMarks(plot: UPlot, { marks }: Drawing, colour: string): void {
  const { ctx } = plot
  ctx.save()
  ctx.strokeStyle = colour
  ctx.lineWidth = 2 * devicePixelRatio
  for (const { at, value } of marks) {
    if (value <= 0) continue
    const y = plot.valToPos(value, 'y', true)
    ctx.beginPath()
    ctx.moveTo(plot.valToPos(at - 0.32, 'x', true), y)
    ctx.lineTo(plot.valToPos(at + 0.32, 'x', true), y)
    ctx.stroke()
  }
  ctx.restore()
}
