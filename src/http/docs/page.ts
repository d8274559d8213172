import { createHash } from 'node:crypto'
import type { OpenApiDocument } from './openapi.ts'
import { type DocsRow, type DocsSchema, docsRows, docsSchemas } from './rows.ts'

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
code, summary { font-family: ui-monospace, monospace }
summary { cursor: pointer; padding: .4rem 0; border-top: 1px solid color-mix(in srgb, currentcolor 20%, transparent) }
summary span { font-family: system-ui, sans-serif; opacity: .75 }
table { border-collapse: collapse; width: 100%; font-size: .9rem }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; overflow-wrap: anywhere }
`

/** Nothing is loaded or run; the style sheet is allowed by its hash. */
export const DOCS_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

export const renderDocsPage = (document: OpenApiDocument): string =>
  `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(document.info.title)}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${escapeHtml(document.info.title)} ${escapeHtml(document.info.version)}</h1>
<p>${escapeHtml(document.info.description)} For programs: <a href="openapi.json">openapi.json</a>.</p>
<h2>Routes</h2>
${docsRows(document).map(routeHtml).join('\n')}
<h2>Shapes</h2>
${docsSchemas(document).map(schemaHtml).join('\n')}
</body>
</html>
`

const routeHtml = (row: DocsRow): string =>
  `<details><summary>${escapeHtml(row.method)} ${escapeHtml(row.path)} <span>${escapeHtml(row.summary)}</span></summary>
<p>${escapeHtml(row.description)} Gate: ${escapeHtml(row.gate)}.</p>
${table(
  ['Parameter', 'In', 'Type', 'Meaning'],
  row.parameters.map(({ name, place, type, description }) => [name, place, type, description]),
)}
${table(
  ['Status', 'Body', 'Meaning'],
  [
    ...row.answers.map(({ status, type, description }) => [status, type, description]),
    ...row.problems.map((status) => [status, 'Problem', '']),
  ],
)}
${row.body === '' ? '' : `<p>Body: <code>${escapeHtml(row.body)}</code></p>`}
</details>`

const schemaHtml = ({ name, description, members }: DocsSchema): string =>
  `<details><summary>${escapeHtml(name)}</summary>
<p>${escapeHtml(description)}</p>
${table(
  ['Member', 'Type', 'Required', 'Meaning'],
  members.map(({ name, type, isRequired, description }) => [
    name,
    type,
    isRequired ? 'yes' : 'no',
    description,
  ]),
)}
</details>`

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  rows.length === 0
    ? ''
    : `<table><tr>${head.map((text) => `<th>${escapeHtml(text)}</th>`).join('')}</tr>
${rows.map((cells) => `<tr>${cells.map((text) => `<td>${escapeHtml(text)}</td>`).join('')}</tr>`).join('\n')}</table>`

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!)
