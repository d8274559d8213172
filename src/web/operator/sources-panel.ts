import { useCallback, useRef, useState } from 'preact/hooks'
import { html } from '../html.ts'
import type { AdminApi } from './admin-api.ts'
import { addPoll, NO_HISTORY } from './history.ts'
import { SourceRow } from './source-row.ts'
import { useLifetime } from './use-lifetime.ts'
import { usePolling } from './use-polling.ts'

const POLL_MS = 3000

export type PanelProps = { api: AdminApi; onError: (error: unknown) => string }

export function SourcesPanel({ api, onError }: PanelProps) {
  const [history, setHistory] = useState(NO_HISTORY)
  const [isPlain, setPlain] = useState(false)
  const [problem, setProblem] = useState('')
  const [news, setNews] = useState('')
  const lifetime = useLifetime()
  /** Constant until a restart, so it ends the polling. */
  const isPlainHere = useRef(false)
  const poll = useCallback(
    async (signal: AbortSignal): Promise<void> => {
      if (isPlainHere.current) return
      try {
        const sources = await api.sources(signal)
        if (signal.aborted) return
        isPlainHere.current = sources === null
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
      setNews(`${registry} is being asked anew.`)
      pollNow()
    } catch (error) {
      if (!lifetime.aborted) setNews(`${registry} was not refreshed: ${onError(error)}`)
    }
  }
  const sources = [...history.last.values()]
  return html`<section aria-labelledby="sources-title">
    <h2 id="sources-title">Sources</h2>
    ${problem !== '' && html`<p class="fault" role="alert">Not up to date: ${problem}</p>`}
    <p role="status">${news}</p>
    ${isPlain && html`<p>A plain Registry: no upstream is configured, so there are no sources to show.</p>`}
    ${
      sources.length > 0 &&
      html`<div class="scroll" tabindex="0" role="region" aria-labelledby="sources-title">
        <table class="sources">
          <thead>
            <tr>
              <th scope="col">Source</th>
              <th scope="col">State</th>
              <th scope="col">Breaker</th>
              <th scope="col">Age</th>
              <th scope="col">Listings</th>
              <th scope="col">Latency</th>
              <th scope="col">Cache hits</th>
              <th scope="col">Failures</th>
              <th scope="col"><span class="unseen">Actions</span></th>
            </tr>
          </thead>
          <tbody>
            ${sources.map(
              (source) => html`<${SourceRow}
                key=${source.registry}
                source=${source}
                samples=${history.samples.get(source.registry) ?? []}
                onRefresh=${refresh}
              />`,
            )}
          </tbody>
        </table>
      </div>
      <p class="hint">
        Lines are of the last polls, newest on the right. Counts are those of the process that answered.
      </p>`
    }
  </section>`
}
