import { plural } from '../domain/plural.ts'
import { safeJson } from '../domain/safe-text.ts'
import { formatJson, parseJson } from '../json/value.ts'
import { untrustedText } from './common/untrusted-text.ts'

/** Search and “Try it” of the page that `http/docs/page.ts` writes. Without this script it is complete but for them. */

/** Longer answers are cut. */
const MAX_SHOWN_CHARS = 100_000
const MAX_WAIT_MS = 15_000

const root = new URL('.', location.href)

for (const sample of document.querySelectorAll<HTMLElement>('[data-base]'))
  sample.textContent = sample.textContent.replaceAll(`${sample.dataset.base}/`, root.href)

const search = document.querySelector<HTMLInputElement>('#search')!
search.addEventListener('input', () => find(search.value))
for (const form of document.querySelectorAll<HTMLFormElement>('.try'))
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void tryOut(form)
  })

/** Hides what does not contain every word. */
function find(text: string): void {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const found = { routes: 0, schemas: 0 }
  for (const article of document.querySelectorAll('article')) {
    const content = article.textContent.toLowerCase()
    article.hidden = !words.every((word) => content.includes(word))
    const entry = document.querySelector<HTMLElement>(`[data-of="${CSS.escape(article.id)}"]`)
    if (entry !== null) entry.hidden = article.hidden
    if (!article.hidden) found[entry === null ? 'schemas' : 'routes']++
  }
  for (const group of document.querySelectorAll<HTMLElement>('.group'))
    group.hidden = group.querySelector('article:not([hidden])') === null
  const counts = `${plural(found.routes, 'route')} and ${plural(found.schemas, 'schema')} found`
  document.querySelector('#found')!.textContent = words.length === 0 ? '' : counts
}

async function tryOut(form: HTMLFormElement): Promise<void> {
  const output = form.querySelector('output')!
  const address = URL.parse(form.querySelector('input')!.value, root)
  if (address === null || !address.href.startsWith(root.href)) {
    output.textContent = `The address has to be below ${root.href}`
    return
  }
  output.textContent = 'Loading…'
  try {
    const key = document.querySelector<HTMLInputElement>('#key')!.value.trim()
    const response = await fetch(address, {
      headers: { Accept: 'application/json', ...(key !== '' && { Authorization: `Bearer ${key}` }) },
      credentials: 'omit',
      redirect: 'error',
      signal: AbortSignal.timeout(MAX_WAIT_MS),
    })
    const text = await response.text()
    show(output, `${response.status} ${response.statusText} · ${response.headers.get('content-type')}`, text)
  } catch (cause) {
    output.textContent =
      cause instanceof DOMException && cause.name === 'TimeoutError'
        ? `No answer within ${MAX_WAIT_MS / 1000} s. Try again.`
        : 'The gateway could not be reached, or the key has characters that no header may have.'
  }
}

/** As text, JSON indented, with invisible characters as escapes. */
function show(output: HTMLOutputElement, status: string, text: string): void {
  const line = document.createElement('p')
  line.textContent = status
  const body = document.createElement('pre')
  body.tabIndex = 0
  body.ariaLabel = 'Answer'
  body.textContent = readable(text)
  output.replaceChildren(line, body)
}

function readable(text: string): string {
  if (text.length > MAX_SHOWN_CHARS) return untrustedText(text, MAX_SHOWN_CHARS)
  try {
    return safeJson(formatJson(parseJson(text), 2))
  } catch {
    return untrustedText(text, MAX_SHOWN_CHARS)
  }
}
