import type { BlockJson } from '../../wire/block.ts'
import { type DataColumn, DataTable } from '../common/data-table.ts'
import { untrustedText } from '../common/untrusted-text.ts'
import { html } from '../html.ts'
import { Day, type MinutelyProps, Section, useAction, useLifetime, useMinutely } from './panel.ts'

/** What is left out of every answer, and how to show it again. */
export function BlocksPanel({ api, onError, now }: MinutelyProps) {
  const [blocks, list, failure] = useMinutely(api.blocks, { onError, now })
  const { news, act } = useAction(onError)
  const lifetime = useLifetime()
  const undo = ({ id }: BlockJson): Promise<void> =>
    act(`Undoing block ${id}`, async () => {
      await api.unblock(id, lifetime)
      await list()
      return `Block ${id} is undone.`
    })
  const { holding = [], ended = [] } = Object.groupBy(blocks ?? [], ({ ended_at }) =>
    ended_at === null ? 'holding' : 'ended',
  )
  return html`<${Section} id="blocks" title="Blocks">
    <p class="hint">To block a listing or its seller, open it on the <a href="./">board</a> in this tab.</p>
    <p role="status">${news || failure}</p>
    ${
      holding.length === 0
        ? html`<p>${blocks === null ? 'The blocks are not listed yet.' : 'Nothing is blocked.'}</p>`
        : html`<${DataTable}
            label="Blocks that hold"
            name="blocks"
            columns=${[...COLUMNS, { title: 'Until' }, { title: 'Actions', isHidden: true }]}
            rows=${holding.map((block) => ({
              key: block.id,
              cells: [
                ...commonCells(block),
                html`<${Day} of=${block.until} none="undone" />`,
                undoButton(block, undo),
              ],
            }))}
          />`
    }
    ${
      ended.length > 0 &&
      html`<details>
        <summary>${ended.length} ended</summary>
        <${DataTable}
          label="Ended blocks"
          name="blocks"
          columns=${[...COLUMNS, { title: 'Ended' }]}
          rows=${ended.map((block) => ({
            key: block.id,
            cells: [...commonCells(block), html`<${Day} of=${block.ended_at} />`],
          }))}
        />
      </details>`
    }
  <//>`
}

const COLUMNS: readonly DataColumn[] = [
  { title: 'Subject', isHeader: true },
  { title: 'Id', isNumber: true },
  { title: 'Source' },
  { title: 'Reason' },
  { title: 'By' },
  { title: 'Since' },
]

const commonCells = ({ subject, id, source, reason, by, created_at }: BlockJson) => [
  untrustedText(subject),
  id,
  source ?? 'all',
  untrustedText(reason),
  untrustedText(by),
  html`<${Day} of=${created_at} />`,
]

const undoButton = (block: BlockJson, undo: (block: BlockJson) => Promise<void>) =>
  html`<button type="button" onClick=${() => undo(block)}>Undo <span class="unseen">block ${block.id}</span></button>`
