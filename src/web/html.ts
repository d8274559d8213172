import htm from 'htm'
import { h, type VNode } from 'preact'

/** Values are inserted as text, never parsed as HTML. */
export const html = htm.bind(h) as (strings: TemplateStringsArray, ...values: unknown[]) => VNode
