import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { html } from '../html.ts'

const FEEDBACK_MS = 1500

type CopyButtonProps = {
  /** A function where the text is known only at the click. */
  text: string | (() => string)
  label: string
  /** Default: Copy. */
  children?: ComponentChildren
}

export function CopyButton({ text, label, children = 'Copy' }: CopyButtonProps) {
  const [feedback, setFeedback] = useState<string | null>(null)
  const copy = async (): Promise<void> => {
    setFeedback(await write(typeof text === 'string' ? text : text()))
    setTimeout(() => setFeedback(null), FEEDBACK_MS)
  }
  return html`<button type="button" class="quiet" aria-label=${`Copy ${label}`} onClick=${copy}>
    <span aria-live="polite">${feedback ?? children}</span>
  </button>`
}

/** The clipboard requires TLS or loopback. */
async function write(text: string): Promise<string> {
  try {
    await navigator.clipboard.writeText(text)
    return 'Copied'
  } catch {
    return 'Select and copy the text'
  }
}
