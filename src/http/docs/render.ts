import { createHash } from 'node:crypto'
import type { OpenApiDocument } from './openapi.ts'
import { type DocsChapter, type DocsSection, type DocsTable, docsText } from './text.ts'

export const renderMarkdown = (document: OpenApiDocument): string =>
  `${[
    '# HTTP interface',
    'Made from the route table by `npm run docs`; a test keeps it current. The same is served at `/docs` and, as ' +
      'OpenAPI 3.1, at `/openapi.json`.',
    ...docsText(document).flatMap(({ title, table, sections }) => [
      `## ${title}`,
      ...(table === undefined ? [] : [markdownTable(table)]),
      ...sections.flatMap(markdownSection),
    ]),
  ].join('\n\n')}\n`

const markdownSection = ({ title, summary, paragraphs, tables }: DocsSection): string[] => [
  `### ${title}`,
  ...(summary === '' ? [] : [`${summary}.`]),
  ...paragraphs,
  ...tables.filter(({ rows }) => rows.length > 0).map(markdownTable),
]

const markdownTable = ({ head, rows }: DocsTable): string =>
  [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n')

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

export const renderHtml = (document: OpenApiDocument): string =>
  `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${html(document.info.title)}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${html(document.info.title)} ${html(document.info.version)}</h1>
<p>${html(document.info.description)} For programs: <a href="openapi.json">openapi.json</a>.</p>
${docsText(document).map(htmlChapter).join('\n')}
</body>
</html>
`

const htmlChapter = ({ title, table, sections }: DocsChapter): string =>
  `<h2>${html(title)}</h2>
${table === undefined ? '' : htmlTable(table)}
${sections.map(htmlSection).join('\n')}`

const htmlSection = ({ title, summary, paragraphs, tables }: DocsSection): string =>
  `<details><summary>${html(title)} <span>${html(summary)}</span></summary>
${paragraphs.map((text) => `<p>${html(text)}</p>`).join('\n')}
${tables.map(htmlTable).join('\n')}
</details>`

const htmlTable = ({ head, rows }: DocsTable): string =>
  rows.length === 0
    ? ''
    : `<table>${htmlRow(head, 'th')}\n${rows.map((row) => htmlRow(row, 'td')).join('\n')}</table>`

const htmlRow = (cells: readonly string[], element: 'th' | 'td'): string =>
  `<tr>${cells.map((cell) => `<${element}>${html(cell)}</${element}>`).join('')}</tr>`

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const html = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!).replaceAll(/`([^`]*)`/g, '<code>$1</code>')
