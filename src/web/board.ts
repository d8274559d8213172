import { render } from 'preact'
import { html } from './html.ts'

render(html`<main><h1>entrepot</h1></main>`, document.querySelector('#app')!)
