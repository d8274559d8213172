import type { Page } from '../web/pages.ts'
import type { OpenApiDocument } from './openapi.ts'
import { EXAMPLE_BASE } from './samples.ts'
import { type DocsTable, docsText, type RouteText, type SchemaText } from './text.ts'

export const DOCS: Page = {
  path: '/docs',
  summary: 'This interface as a page',
  title: 'entrepot: API',
  header:
    '<h1>entrepot API</h1><nav aria-label="Other pages"><a href="./">Board</a> <a href="operator">Operator</a> ' +
    '<a href="openapi.json">OpenAPI</a></nav>' +
    '<div class="row scripted"><label for="search">Search</label><input type="search" id="search" autocomplete="off"></div>',
  withoutScript: 'Search and “Try it” need JavaScript.',
  entry: 'web/docs',
  styles: ['web/base.css', 'web/docs.css'],
}

/** The page's content; texts of routes and of the filter spec are escaped. Search and forms are wired by `web/docs.ts`. */
export function renderDocs(document: OpenApiDocument): string {
  const { groups, schemas } = docsText(document)
  const names = new Set(schemas.map(({ name }) => name))
  const link = (text: string): string => html(text, names)
  return `<header class="top row">${DOCS.header}</header>
<div class="docs with-side">
<nav class="contents side" aria-label="Contents">
${groups.map(({ name, routes }) => contents(name, routes)).join('\n')}
<h2><a href="#schemas">Schemas</a></h2>
</nav>
<main class="stack">
<p>${link(document.info.description)} Version ${link(document.info.version)}.</p>
<div class="key row scripted"><label>API key for “Try it” <input type="password" id="key" autocomplete="off" spellcheck="false"></label></div>
<p id="found" role="status"></p>
${groups
  .map(
    ({ name, description, routes }) => `<section class="group stack" aria-labelledby="${anchorOf(name)}">
<h2 id="${anchorOf(name)}">${name}</h2>
<p>${link(description)}</p>
${routes.map((route) => routeArticle(route, link)).join('\n')}
</section>`,
  )
  .join('\n')}
<section class="group stack" aria-labelledby="schemas">
<h2 id="schemas">Schemas</h2>
${schemas.map((schema) => schemaArticle(schema, link)).join('\n')}
</section>
</main>
</div>
`
}

const contents = (
  name: string,
  routes: readonly RouteText[],
): string => `<h2><a href="#${anchorOf(name)}">${name}</a></h2>
<ul>${routes.map(({ id, method, path }) => `<li data-of="${id}"><a href="#${id}">${method} ${broken(html(path))}</a></li>`).join('')}</ul>`

/** A long path breaks between its steps. */
const broken = (path: string): string => path.replaceAll('/', '<wbr>/')

const anchorOf = (name: string): string => name.toLowerCase()

type Link = (text: string) => string

const routeArticle = (route: RouteText, link: Link): string => `<article class="stack box" id="${route.id}">
<h3><a href="#${route.id}"><span class="method">${route.method}</span> ${html(route.path)}</a></h3>
<p><strong>${link(route.summary)}.</strong> Access: ${route.access}.</p>
${route.description === '' ? '' : `<p>${link(route.description)}</p>`}
<pre class="curl" tabindex="0" aria-label="curl" data-base="${EXAMPLE_BASE}">${html(route.curl)}</pre>
${route.samples.map(sampleText).join('\n')}
${route.answer === null ? '' : `<details><summary>Example answer</summary><pre tabindex="0" aria-label="Example answer">${html(route.answer)}</pre></details>`}
${route.tryAddress === null ? '' : tryForm(route.id, route.tryAddress)}
${route.tables.map((one) => (one.isLong ? longTable(one, link) : `<h4>${one.title}</h4>${table(one, link)}`)).join('\n')}
</article>`

const sampleText = ({ label, source }: RouteText['samples'][number]): string =>
  `<details><summary>${label}</summary><pre tabindex="0" aria-label="${label}" data-base="${EXAMPLE_BASE}">${html(source)}</pre></details>`

const tryForm = (id: string, address: string): string => `<form class="try row scripted">
<label for="try-${id}">GET</label><input id="try-${id}" value="${html(address)}" autocomplete="off" spellcheck="false"><button>Try it</button>
<output></output>
</form>`

const longTable = (one: DocsTable, link: Link): string =>
  `<details><summary>${one.title} (${one.rows.length})</summary>${table(one, link)}</details>`

const schemaArticle = (
  { name, description, table: members }: SchemaText,
  link: Link,
): string => `<article class="stack box" id="${name}">
<h3><a href="#${name}">${html(name)}</a></h3>
${description === '' ? '' : `<p>${link(description)}.</p>`}
${members.rows.length === 0 ? '' : table(members, link)}
</article>`

/** With roles, since cells are blocks on a phone. */
const table = ({ head, rows }: DocsTable, link: Link): string => `<table role="table" class="cards">
<thead><tr role="row">${head.map((cell) => `<th role="columnheader" scope="col">${cell}</th>`).join('')}</tr></thead>
<tbody>
${rows.map((cells) => `<tr role="row">${cells.map((cell) => `<td role="cell">${link(cell)}</td>`).join('')}</tr>`).join('\n')}
</tbody>
</table>`

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const NO_NAMES: ReadonlySet<string> = new Set()

/** Escaped, with backticks as `<code>`, and names of schemas in them as links. */
const html = (text: string, names = NO_NAMES): string =>
  text
    .replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!)
    .replaceAll(
      /`([^`]*)`/g,
      (_, content: string) =>
        `<code>${content.replaceAll(/[A-Z][\w.-]*/g, (name) => (names.has(name) ? `<a href="#${name}">${name}</a>` : name))}</code>`,
    )
