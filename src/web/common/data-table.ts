import type { ComponentChildren } from 'preact'
import { html } from '../html.ts'

/** The header column names its row. A hidden title is for screen readers. */
export type DataColumn = { title: string; isHeader?: boolean; isNumber?: boolean; isHidden?: boolean }

type DataRow = {
  key: string | number
  /** One for each column. */
  cells: readonly ComponentChildren[]
  /** In a row of its own below. */
  details?: ComponentChildren
}

type DataTableProps = {
  label: string
  /** The style sheet's name of the table. */
  name?: string
  columns: readonly DataColumn[]
  rows: readonly DataRow[]
}

/** On phones each row is a card. Roles are explicit: the phone style removes the table's. */
export const DataTable = ({ label, name = '', columns, rows }: DataTableProps) =>
  html`<div class="frame" tabindex="0" role="group" aria-label=${`${label}, scrollable`}>
    <table role="table" class=${`cards ${name}`}>
      <caption class="unseen">${label}</caption>
      <thead role="rowgroup">
        <tr role="row">${columns.map(headOf)}</tr>
      </thead>
      <tbody role="rowgroup">
        ${rows.map((row) => html`<${Row} key=${row.key} ...${{ row, columns }} />`)}
      </tbody>
    </table>
  </div>`

const headOf = ({ title, isNumber, isHidden }: DataColumn) =>
  html`<th role="columnheader" scope="col" class=${isNumber && 'number'}>${isHidden ? html`<span class="unseen">${title}</span>` : title}</th>`

function Row({ row: { cells, details }, columns }: { row: DataRow; columns: readonly DataColumn[] }) {
  return html`<tr role="row">${columns.map((column, n) => cellOf(column, cells[n]))}</tr>
    ${details !== undefined && html`<tr role="row" class="details"><td role="cell" colspan=${columns.length}>${details}</td></tr>`}`
}

const cellOf = ({ title, isHeader, isNumber, isHidden }: DataColumn, content: ComponentChildren) =>
  isHeader
    ? html`<th role="rowheader" scope="row">${content}</th>`
    : html`<td role="cell" class=${isNumber && 'number'} data-label=${isHidden ? undefined : title}>${content}</td>`
