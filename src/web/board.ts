import { render } from 'preact'
import { App } from './board/app.ts'
import { html } from './html.ts'

const container = document.querySelector('#app')!
container.replaceChildren() // the static shell
render(html`<${App} />`, container)
