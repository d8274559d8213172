import { html } from '../html.ts'

const TERMS: readonly (readonly [term: string, meaning: string])[] = [
  ['Registry', 'A service where sellers publish their listings. This page shows the listings of several.'],
  [
    'Seller',
    'The wallet that signed a listing. It names a storefront, where buyers agree with the seller and pay.',
  ],
  ['Escrow', 'A contract on a chain that holds the payment until the delivery is accepted.'],
  ['Arbiter', 'The contract that decides whether an escrow pays the seller.'],
  ['Oracle', 'An address whose statement the arbiter uses.'],
  ['Token', 'The money in which a price is given, such as USDC, on one chain.'],
  [
    'Base units',
    "A token's smallest amount. Prices in a token that this gateway does not know are given in it.",
  ],
  ['Status', 'Listings are open, closed or expired. Only open ones are shown unless you choose others.'],
]

export const Glossary = () =>
  html`<details>
    <summary>Words of this page</summary>
    <dl>${TERMS.map(([term, meaning]) => html`<dt>${term}</dt><dd>${meaning}</dd>`)}</dl>
  </details>`
