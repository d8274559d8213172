import { useState } from 'preact/hooks'
import type { TokenTable } from '../../../domain/price/token.ts'
import { html } from '../../html.ts'
import type { Navigation } from '../navigation.ts'
import type { ListingRow } from '../state/listing-row.ts'
import { CompareDialog, MAX_COMPARED } from './compare.ts'

type CompareBarProps = {
  picked: readonly ListingRow[]
  tokens: TokenTable
  navigation: Navigation
  onClear: () => void
}

export function CompareBar({ picked, tokens, navigation, onClear }: CompareBarProps) {
  const [isOpen, setOpen] = useState(false)
  if (picked.length === 0) return null
  const isComparable = picked.length >= 2 && picked.length <= MAX_COMPARED
  return html`<section class="compare-bar" aria-label="Comparison">
    <span role="status">${picked.length} of ${MAX_COMPARED} chosen</span>
    <button type="button" disabled=${!isComparable} onClick=${() => setOpen(true)}>Compare</button>
    <button type="button" class="quiet" onClick=${onClear}>Clear</button>
    ${isOpen && html`<${CompareDialog} rows=${picked} onClose=${() => setOpen(false)} ...${{ tokens, navigation }} />`}
  </section>`
}
