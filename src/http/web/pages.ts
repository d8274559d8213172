import { createHash } from 'node:crypto'

export const ICON = 'web/icon.svg'

const BOARD: Page = {
  path: '/',
  summary: 'Web UI',
  title: 'entrepot',
  header:
    '<h1>entrepot</h1><nav aria-label="Other pages"><a href="docs">API docs</a> <a href="operator">Operator</a></nav>' +
    '<div class="key row"><label class="row"><span>API key</span><input disabled></label><button disabled>Apply</button></div>' +
    '<button disabled>Refresh</button>' +
    '<p class="tagline">Machines and API credits for rent, from independent registries. Sellers are paid through on-chain escrow; ' +
    'entrepot only lists them.</p>',
  withoutScript:
    'The board needs JavaScript. Programs and agents put the query of this address behind <a href="listings">listings</a>, for offers, or ' +
    'behind <a href="facets">facets</a>, for counts and prices, both as JSON; tools for agents are at <code>mcp</code>.',
  entry: 'web/board',
  styles: ['web/base.css', 'web/board.css', 'web/listings.css', 'web/sheet.css'],
}

const OPERATOR: Page = {
  path: '/operator',
  summary: 'Web UI of the operator',
  title: 'entrepot: operator',
  header:
    '<h1>entrepot operator</h1><nav aria-label="Other pages"><a href="./">Board</a> <a href="docs">API docs</a></nav>',
  withoutScript:
    'This page needs JavaScript. The same can be done with <code>entrepot keys</code> and the routes under <code>admin/</code>.',
  entry: 'web/operator',
  styles: ['web/base.css', 'web/operator.css'],
}

export const PAGES: readonly Page[] = [BOARD, OPERATOR]

/** All texts are our own, so they are not escaped. */
export type Page = {
  /** One segment at most: the page's URLs are relative to it. */
  path: string
  summary: string
  title: string
  /** Shown until the script renders the same, so that nothing moves. */
  header: string
  withoutScript: string
  entry: string
  styles: readonly string[]
}

/**
 * Inline, since it runs where files of the page are missing: after an update of the gateway, or between replicas of two
 * versions. Reloads once in a row, then gives up.
 */
const RELOAD_SCRIPT = `
const RELOADED = 'entrepot.reloaded'
let hasFailed = false
let isReloading = false
addEventListener('error', ({ target }) => {
  if (hasFailed || !(target instanceof Element) || !target.matches('script, [rel=stylesheet], [rel=modulepreload]')) return
  hasFailed = true
  try {
    isReloading = sessionStorage.getItem(RELOADED) === null
    sessionStorage.setItem(RELOADED, '')
  } catch {
    isReloading = false
  }
  if (isReloading) location.reload()
}, true)
addEventListener('load', () => {
  if (!hasFailed) sessionStorage.removeItem(RELOADED)
  else if (!isReloading) document.querySelector('.loading, h1').textContent = 'This page could not be loaded. Reload it in a moment.'
})
`

const sha256 = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** Browsers refuse every `innerHTML` (W3C Trusted Types). The hashes allow inline scripts: the import map and ours. */
export const pagePolicy = (imports: string): string =>
  [
    "default-src 'none'",
    `script-src 'self' ${sha256(imports)} ${sha256(RELOAD_SCRIPT)}`,
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')

type PageFiles = {
  /** Address of the assets' folder, relative to the page. */
  assets: string
  /** The import map, as JSON. */
  imports: string
  /** Scripts that load with the page; the last is the entry. */
  scripts: readonly string[]
}

/** URLs are relative, so that a proxy may serve the pages below a path. The body paints before any script is loaded. */
export const renderPage = (page: Page, body: string, { assets, imports, scripts }: PageFiles): string =>
  `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${page.title}</title>
<script>${RELOAD_SCRIPT}</script>
<link rel="icon" href="${assets}/${ICON}" type="image/svg+xml">
${page.styles.map((path) => `<link rel="stylesheet" href="${assets}/${path}">`).join('\n')}
<script type="importmap">${imports}</script>
${scripts.map((path) => `<link rel="modulepreload" href="${assets}/${path}">`).join('\n')}
<script type="module" src="${assets}/${scripts.at(-1)}"></script>
</head>
<body>
${body}
<noscript><p>${page.withoutScript}</p></noscript>
</body>
</html>
`

/** The script of the page renders over it. */
export const renderShell = ({ header }: Page): string => `<div id="app">
<header class="top row">${header}</header>
<main><p class="loading">Loading…</p></main>
</div>`
