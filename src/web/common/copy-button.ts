import { useState } from 'preact/hooks'
import { html } from '../html.ts'

/** How long it says so. */
const SAID_MS = 1500

/** Puts a text into the clipboard, and says whether that went well. */
export const CopyButton = ({ text, label }: { text: string; label: string }) => {
  const [said, say] = useState<string | null>(null)
  const copy = async (): Promise<void> => {
    say(await write(text))
    setTimeout(() => say(null), SAID_MS)
  }
  return html`<button type="button" class="quiet" aria-label=${`Copy ${label}`} onClick=${copy}>
    <span aria-live="polite">${said ?? 'Copy'}</span>
  </button>`
}

/** The clipboard is there over TLS and on loopback only. */
const write = async (text: string): Promise<string> => {
  try {
    await navigator.clipboard.writeText(text)
    return 'Copied'
  } catch {
    return 'Select and copy it'
  }
}
