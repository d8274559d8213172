import { UPLOT_STYLE } from './libraries.ts'
import type { Page } from './page.ts'

export const ICON = 'web/icon.svg'

const BOARD: Page = {
  path: '/',
  summary: 'The market as a page',
  title: 'entrepot',
  withoutScript:
    'The board needs JavaScript. The same market is at <a href="listings">listings</a>, as JSON.',
  entry: 'web/board',
  styles: ['web/base.css', UPLOT_STYLE, 'web/board.css', 'web/listings.css', 'web/sheet.css'],
}

const OPERATOR: Page = {
  path: '/operator',
  summary: "The operator's page",
  title: 'entrepot: operator',
  withoutScript:
    'This page needs JavaScript. The same can be done with <code>entrepot keys</code> and the routes under <code>admin/</code>.',
  entry: 'web/operator',
  styles: ['web/base.css', 'web/operator.css'],
}

export const PAGES: readonly Page[] = [BOARD, OPERATOR]
