import { CopyButton } from '../common/copy-button.ts'
import { html } from '../html.ts'

type Command = { label: string; text: string | null }

export const Commands = ({ commands }: { commands: readonly Command[] }) =>
  html`<dl class="commands">
    ${commands.map(
      ({ label, text }) =>
        html`<div key=${label}>
          <dt>${label}</dt>
          <dd>
            ${
              text === null
                ? html`<span class="hint">A value holds control characters, which would act on a terminal: use curl.</span>`
                : html`<pre tabindex="0"><code>${text}</code></pre>
                  <${CopyButton} text=${text} label=${label} />`
            }
          </dd>
        </div>`,
    )}
  </dl>`
