import { CopyButton } from '../common/copy-button.ts'
import { html } from '../html.ts'

/** `text` is `null` where a command is not safe to paste. */
export type ShownCommand = { label: string; text: string | null }

export const CommandList = ({ commands }: { commands: readonly ShownCommand[] }) =>
  html`<dl class="commands stack">
    ${commands.map(
      ({ label, text }) =>
        html`<div key=${label}>
          <dt>${label}</dt>
          <dd>
            ${
              text === null
                ? html`<span class="hint">A value has control characters, which a terminal would act on: use curl.</span>`
                : html`<pre tabindex="0"><code>${text}</code></pre>
                  <${CopyButton} text=${text} label=${label} />`
            }
          </dd>
        </div>`,
    )}
  </dl>`
