import { render } from 'preact'
import { App } from './board/app.ts'
import { html } from './html.ts'

render(html`<${App} />`, document.querySelector('#app')!)
