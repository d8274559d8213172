import { render } from 'preact'
import { html } from './html.ts'
import { OperatorPage } from './operator/operator-page.ts'

const container = document.querySelector('#app')!
const show = (): void => render(html`<${OperatorPage} />`, container)

container.replaceChildren() // the static shell
show()
// Otherwise the browser's back-forward cache keeps the page's content and shows it again.
addEventListener('pagehide', () => render(null, container))
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) show()
})
