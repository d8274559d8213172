import { useCallback, useMemo, useState } from 'preact/hooks'
import { KeyForm } from '../common/key-form.ts'
import { RequestFault } from '../common/request-fault.ts'
import { SessionKey } from '../common/session-key.ts'
import { html } from '../html.ts'
import { adminApi } from './admin-api.ts'
import { KeysPanel } from './keys-panel.ts'
import { SourcesPanel } from './sources-panel.ts'
import { useLifetime } from './use-lifetime.ts'

const KEPT = new SessionKey('entrepot.operator-key')

/** Locked until the gateway accepts the key, and again once it refuses it. */
export function OperatorPage() {
  const [key, setKey] = useState(() => KEPT.read())
  const [problem, setProblem] = useState('')
  const lifetime = useLifetime()
  const api = useMemo(() => (key === null ? null : adminApi(key)), [key])
  const change = useCallback((next: string | null, why = ''): void => {
    KEPT.write(next)
    setProblem(why)
    setKey(next)
  }, [])
  /** Tries a key before keeping it: a mistyped one fails at once. */
  const enter = async (given: string): Promise<void> => {
    try {
      await adminApi(given).keys(lifetime)
      change(given)
    } catch (error) {
      setProblem(refusalOf(error))
    }
  }
  const onError = useCallback(
    (error: unknown): string => {
      if (!(error instanceof RequestFault)) throw error
      if (error.status === 401) change(null, refusalOf(error))
      return error.message
    },
    [change],
  )
  return html`
    <header class="top">
      <h1><img src="assets/web/icon.svg" alt="" width="20" height="20" /> entrepot operator</h1>
      <nav aria-label="Other pages"><a href="./">Board</a> <a href="docs">Interface</a></nav>
      ${api !== null && html`<${KeyForm} label="Operator key" isSet onChange=${() => change(null)} />`}
    </header>
    <main class="operator">
      ${
        api === null
          ? html`<section class="locked" aria-labelledby="locked-title">
              <h2 id="locked-title">This page is the operator's</h2>
              <p>
                It opens with the value of <code>REGISTRY_ADMIN_API_KEY</code>, which stays in this tab and is gone when
                the tab is closed.
              </p>
              <${KeyForm} label="Operator key" isSet=${false} onChange=${enter} />
              <p class="fault" role="alert">${problem}</p>
            </section>`
          : html`<${SourcesPanel} api=${api} onError=${onError} /> <${KeysPanel} api=${api} onError=${onError} />`
      }
    </main>
  `
}

/** The gateway's words distinguish a wrong key from closed admin routes. */
function refusalOf(error: unknown): string {
  if (!(error instanceof RequestFault)) throw error
  return error.status === 401
    ? `The gateway refused this key: ${error.message}.`
    : `The key could not be tried: ${error.message}`
}
