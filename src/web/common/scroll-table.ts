import type { ComponentChildren } from 'preact'
import { html } from '../html.ts'

/** A number column is aligned right; a hidden title is for screen readers. */
export type ScrollColumn = { title: string; isNumber?: boolean; isHidden?: boolean }

type ScrollTableProps = {
  label: string
  columns: readonly ScrollColumn[]
  /** The style sheet's name of the table. */
  name?: string
  /** Rows. */
  children: ComponentChildren
}

/** A table that scrolls sideways within its place, by keyboard as well. */
export const ScrollTable = ({ label, columns, name, children }: ScrollTableProps) =>
  html`<div class="scroll" tabindex="0" role="region" aria-label=${label}>
    <table class=${name}>
      <thead>
        <tr>
          ${columns.map(
            ({ title, isNumber, isHidden }) =>
              html`<th scope="col" class=${isNumber && 'number'}>
                ${isHidden ? html`<span class="unseen">${title}</span>` : title}
              </th>`,
          )}
        </tr>
      </thead>
      <tbody>
        ${children}
      </tbody>
    </table>
  </div>`
