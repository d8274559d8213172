import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { formatAge } from '../../wire/describe-missing.ts'
import type { SourceDetailsJson } from '../../wire/source.ts'
import { type ScrollColumn, ScrollTable } from '../common/scroll-table.ts'
import { stateWords } from '../common/source-report.ts'
import { html } from '../html.ts'
import { addPoll, NO_HISTORY, type Sample } from './history.ts'
import { type PanelProps, useLifetime } from './panel.ts'

const POLL_MS = 3000

export function SourcesPanel({ api, onError }: PanelProps) {
  const [history, setHistory] = useState(NO_HISTORY)
  const [isPlain, setPlain] = useState(false)
  const [problem, setProblem] = useState('')
  const [status, setStatus] = useState('')
  const lifetime = useLifetime()
  /** Constant until a restart, so it ends the polling. */
  const isPlainRegistry = useRef(false)
  const poll = useCallback(
    async (signal: AbortSignal): Promise<void> => {
      if (isPlainRegistry.current) return
      try {
        const sources = await api.sources(signal)
        if (signal.aborted) return
        isPlainRegistry.current = sources === null
        setPlain(sources === null)
        setHistory((before) => addPoll(before, sources ?? []))
        setProblem('')
      } catch (error) {
        if (!signal.aborted) setProblem(onError(error))
      }
    },
    [api, onError],
  )
  const pollNow = usePolling(poll, POLL_MS)
  const refresh = async (registry: string): Promise<void> => {
    try {
      await api.refresh(registry, lifetime)
      setStatus(`${registry} is fetched again.`)
      pollNow()
    } catch (error) {
      if (!lifetime.aborted) setStatus(`${registry} could not be refreshed: ${onError(error)}`)
    }
  }
  const sources = [...history.last.values()]
  return html`<section aria-labelledby="sources-title">
    <h2 id="sources-title">Sources</h2>
    ${problem !== '' && html`<p class="fault" role="alert">Not up to date: ${problem}</p>`}
    <p role="status">${status}</p>
    ${isPlain && html`<p>This is a plain Registry: it has no upstreams.</p>`}
    ${
      sources.length > 0 &&
      html`<${ScrollTable} label="Sources" name="sources" columns=${COLUMNS}>
        ${sources.map(
          (source) => html`<${SourceRow}
            key=${source.registry}
            source=${source}
            samples=${history.samples.get(source.registry) ?? []}
            onRefresh=${refresh}
          />`,
        )}
      <//>
      <p class="hint">
        Lines show the last polls, newest on the right. Counts are those of the process that answered.
      </p>`
    }
  </section>`
}

const COLUMNS: readonly ScrollColumn[] = [
  { title: 'Source' },
  { title: 'State' },
  { title: 'Breaker' },
  { title: 'Age' },
  { title: 'Listings' },
  { title: 'Latency' },
  { title: 'Cache hits' },
  { title: 'Failures' },
  { title: 'Actions', isHidden: true },
]

/** Polls while the page is visible; a new `poll` restarts it. Returns a function that polls at once. */
function usePolling(poll: (signal: AbortSignal) => Promise<void>, everyMs: number): () => void {
  const [starts, setStarts] = useState(0)
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    let timer: ReturnType<typeof setTimeout> | undefined
    const tick = async (): Promise<void> => {
      clearTimeout(timer)
      if (document.visibilityState === 'visible') await poll(signal)
      if (!signal.aborted) timer = setTimeout(tick, everyMs)
    }
    void tick()
    document.addEventListener('visibilitychange', tick, { signal })
    return () => {
      controller.abort()
      clearTimeout(timer)
    }
  }, [poll, everyMs, starts])
  return () => setStarts((before) => before + 1)
}

type SourceRowProps = {
  source: SourceDetailsJson
  samples: readonly Sample[]
  onRefresh: (registry: string) => void
}

function SourceRow({ source, samples, onRefresh }: SourceRowProps) {
  const { registry, mode, visibility, state, age_seconds: age, listings, breaker } = source
  return html`<tr>
    <th scope="row">${registry} <small>${mode}${visibility === 'private' && ', private'}</small></th>
    <td><${Tone} of=${state} text=${stateWords(state)} /></td>
    <td>${breaker === undefined ? '–' : html`<${Breaker} ...${breaker} />`}</td>
    <td>${age === null ? '–' : formatAge(age)}</td>
    <td>${listings ?? '–'}</td>
    <td><${Latency} samples=${samples} isCalled=${source.calls !== undefined} /></td>
    <td><${Hits} source=${source} samples=${samples} /></td>
    <td><${Failures} source=${source} /></td>
    <td>
      ${
        mode !== 'local' &&
        html`<button type="button" onClick=${() => onRefresh(registry)}>
          Refresh <span class="unseen">${registry}</span>
        </button>`
      }
    </td>
  </tr>`
}

const Tone = ({ of, text }: { of: string; text: string }) =>
  html`<span class="tone" data-tone=${TONES[of] ?? 'bad'}>${text}</span>`

const TONES: Readonly<Record<string, string>> = {
  loaded: 'good',
  closed: 'good',
  stale: 'warn',
  half_open: 'warn',
  not_yet_loaded: 'warn',
}

const Breaker = ({ state, failures_in_a_row: failures }: NonNullable<SourceDetailsJson['breaker']>) =>
  html`<${Tone} of=${state} text=${state.replaceAll('_', ' ')} />
    ${failures > 0 && html` <small>${failures} in a row</small>`}`

function Latency({ samples, isCalled }: { samples: readonly Sample[]; isCalled: boolean }) {
  if (!isCalled) return html`–`
  const values = samples.map(({ latencyMs }) => latencyMs)
  const last = values.findLast((value) => value !== null)
  const shown = last === undefined ? 'no calls yet' : `${Math.round(last ?? 0)} ms`
  return html`<${Sparkline} label=${`Latency of calls, last ${shown}`} values=${values} />
    <small>${shown}</small>`
}

function Hits({ source: { cache }, samples }: { source: SourceDetailsJson; samples: readonly Sample[] }) {
  if (cache === undefined) return html`–`
  const values = samples.map(({ hitRate }) => hitRate)
  const hits = cache.fresh + cache.stale
  const pages = hits + cache.miss
  const shown = pages === 0 ? 'no pages yet' : `${Math.round((100 * hits) / pages)} % of ${pages}`
  return html`<${Sparkline} label=${`Cache hits, total ${shown}`} values=${values} max=${1} />
    <small>${shown}</small>`
}

function Failures({ source: { last_error: last, calls } }: { source: SourceDetailsJson }) {
  const reasons = Object.entries(calls?.failures_by_reason ?? {})
  if (last === null && reasons.length === 0) return html`none`
  return html`${
    last !== null &&
    html`<span>last ${last.reason}, <time datetime=${last.at}>${formatAge(secondsSince(last.at))}</time> ago</span>`
  }
    <small class="reasons">${reasons.map(([reason, count]) => `${reason} ${count}×`).join(', ')}</small>`
}

const secondsSince = (instant: string): number => Math.max(0, (Date.now() - Date.parse(instant)) / 1000)

const WIDTH = 100
const HEIGHT = 24
const MARGIN = 2

type SparklineProps = {
  label: string
  /** Oldest first; `null` leaves a gap. */
  values: readonly (number | null)[]
  /** The value at the upper edge; the largest by default. */
  max?: number
}

function Sparkline({ label, values, max }: SparklineProps) {
  const known = values.filter((value) => value !== null)
  const top = max ?? Math.max(...known, 1)
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
