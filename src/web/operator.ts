import { render } from 'preact'
import { html } from './html.ts'
import { OperatorPage } from './operator/operator-page.ts'

const place = document.querySelector('#app')!
const show = (): void => render(html`<${OperatorPage} />`, place)

show()
// A page that is left may be kept, and shown again with all that stood in it (the browser's back-forward cache).
addEventListener('pagehide', () => render(null, place))
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) show()
})
