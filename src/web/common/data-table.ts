import { type ComponentChildren, Fragment } from 'preact'
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
export const DataTable = ({ label, name, columns, rows }: DataTableProps) =>
  html`<div class="frame" tabindex="0" role="group" aria-label=${`${label}, scrollable`}>
    <table role="table" class=${`cards ${name ?? ''}`}>
      <caption class="unseen">${label}</caption>
      <thead role="rowgroup">
        <tr role="row">
          ${columns.map(
            ({ title, isNumber, isHidden }) =>
              html`<th role="columnheader" scope="col" class=${isNumber && 'number'}>
                ${isHidden ? html`<span class="unseen">${title}</span>` : title}
              </th>`,
          )}
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${rows.map(
          ({ key, cells, details }) => html`<${Fragment} key=${key}>
            <tr role="row">
              ${cells.map((cell, n) => html`<${Cell} ...${columns[n]!}>${cell}<//>`)}
            </tr>
            ${
              details !== undefined &&
              html`<tr role="row" class="details">
                <td role="cell" colspan=${columns.length}>${details}</td>
              </tr>`
            }
          <//>`,
        )}
      </tbody>
    </table>
  </div>`

const Cell = ({
  title,
  isHeader,
  isNumber,
  isHidden,
  children,
}: DataColumn & { children?: ComponentChildren }) =>
  isHeader
    ? html`<th role="rowheader" scope="row">${children}</th>`
    : html`<td role="cell" class=${isNumber && 'number'} data-label=${isHidden ? undefined : title}>${children}</td>`
