import { useCallback, useState } from 'preact/hooks'
import type { FleetJson } from '../../../wire/fleet.ts'
import { html } from '../../html.ts'
import type { PanelProps } from '../panel.ts'
import { SourcesPanel } from '../sources/sources-panel.ts'
import { usePolling } from '../use-polling.ts'
import { ChangesPanel } from './changes-panel.ts'
import { ReplicasPanel } from './replicas-panel.ts'
import { TrafficPanel } from './traffic-panel.ts'

const POLL_MS = 3000

/** Everything that is polled. */
export function Overview({ api, onError }: PanelProps) {
  const [fleet, setFleet] = useState<FleetJson | null>(null)
  const [answeredAt, setAnsweredAt] = useState('')
  const [problem, setProblem] = useState('')
  const poll = useCallback(
    async (signal: AbortSignal): Promise<void> => {
      try {
        const answer = await api.fleet(signal)
        if (signal.aborted) return
        setFleet(answer)
        setAnsweredAt(new Date().toLocaleTimeString([], { hourCycle: 'h23' }))
        setProblem('')
      } catch (error) {
        if (!signal.aborted) setProblem(onError(error))
      }
    },
    [api, onError],
  )
  const pollNow = usePolling(poll, POLL_MS)
  const lost =
    problem !== '' &&
    html`<p class="banner failed" role="alert">
      Connection lost: ${problem} ${answeredAt !== '' && `Data from ${answeredAt}.`}
    </p>`
  if (fleet === null) return lost || html`<p class="loading">Loading…</p>`
  return html`
    ${lost}
    <div class=${problem === '' ? 'live' : 'live lost'}>
      <${SourcesPanel} fleet=${fleet} api=${api} onError=${onError} onChange=${pollNow} />
      <${TrafficPanel} fleet=${fleet} />
      <${ReplicasPanel} fleet=${fleet} />
      <${ChangesPanel} fleet=${fleet} />
    </div>
  `
}
