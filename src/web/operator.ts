import { render } from 'preact'
import { useCallback, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { toProblemError } from './common/gateway.ts'
import { KeyForm, OPERATOR_KEY, readKey, writeKey } from './common/key-form.ts'
import { html } from './html.ts'
import { Overview } from './operator/overview.ts'
import { createAdminApi, Section, useLifetime } from './operator/panel.ts'

/** Locked while the gateway has not accepted the key. */
function OperatorPage() {
  const [key, setKey] = useState(() => readKey(OPERATOR_KEY))
  const [problem, setProblem] = useState('')
  const lifetime = useLifetime()
  const attempts = useRef(0)
  const api = useMemo(() => (key === null ? null : createAdminApi(key)), [key])
  const change = useCallback((next: string | null, why = ''): void => {
    writeKey(OPERATOR_KEY, next)
    setProblem(why)
    setKey(next)
  }, [])
  const main = useRef<HTMLElement>(null)
  const shownKey = useRef(key)
  // The form that had the focus is gone.
  useLayoutEffect(() => {
    if (shownKey.current !== key) main.current?.focus()
    shownKey.current = key
  }, [key])
  /** Tries the key first: a mistyped one fails at once. The latest one counts. */
  const enter = async (entered: string): Promise<void> => {
    const attempt = ++attempts.current
    setProblem('')
    try {
      await createAdminApi(entered).keys(lifetime)
      if (attempt === attempts.current) change(entered)
    } catch (error) {
      if (attempt === attempts.current) setProblem(messageOf(error))
    }
  }
  const onError = useCallback(
    (cause: unknown): string => {
      const error = toProblemError(cause)
      if (error.status === 401) change(null, messageOf(error))
      return error.message
    },
    [change],
  )
  return html`
    <header class="top row">
      <h1>entrepot operator</h1>
      <nav aria-label="Other pages"><a href="./">Board</a> <a href="docs">API docs</a></nav>
      ${api !== null && html`<${KeyForm} label="Admin key" isSet onChange=${() => change(null)} />`}
    </header>
    <main class="operator stack" tabindex="-1" ref=${main}>
      ${api === null ? html`<${SignIn} onEnter=${enter} problem=${problem} />` : html`<${Navigation} />`}
      ${api !== null && html`<${Overview} api=${api} onError=${onError} />`}
    </main>
  `
}

type SignInProps = { onEnter: (key: string) => Promise<void>; problem: string }

const SignIn = ({ onEnter, problem }: SignInProps) =>
  html`<${Section} id="locked" title="Operator sign-in">
    <p>Enter the admin key (<code>REGISTRY_ADMIN_API_KEY</code>), or an admin key of your own. It is kept in this tab only.
      Where the service was started without that setting, set it and start again: nothing opens this page before.</p>
    <${KeyForm} label="Admin key" isSet=${false} onChange=${onEnter} />
    <p class="fault" role="alert">${problem}</p>
  <//>`

const Navigation = () =>
  html`<nav class="row" aria-label="Sections">
    ${SECTIONS.map(([id, title]) => html`<a href=${`#${id}`}>${title}</a>`)}
  </nav>`

const SECTIONS = [
  ['sources', 'Sources'],
  ['traffic', 'Traffic'],
  ['replicas', 'Replicas'],
  ['changes', 'Changes of state'],
  ['vocabulary', 'Names not recognised'],
  ['blocks', 'Blocks'],
  ['keys', 'API keys'],
  ['audit', 'Audit log'],
] as const

/** The gateway's detail distinguishes a wrong key from closed admin routes. */
function messageOf(cause: unknown): string {
  const { status, message } = toProblemError(cause)
  const isWrong = status === 401 && /^Invalid admin token/.test(message)
  return isWrong ? 'Wrong admin key.' : `The key could not be tried: ${message}`
}

const container = document.querySelector('#app')!
const show = (): void => render(html`<${OperatorPage} />`, container)

container.replaceChildren() // the static shell
show()
// Otherwise the browser's back-forward cache keeps the page's content and shows it again.
addEventListener('pagehide', () => render(null, container))
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) show()
})
