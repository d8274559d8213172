import htm from 'htm'
import { h, type VNode } from 'preact'

/** Markup of one element as a tagged template. Text in it is text: nothing is ever parsed as HTML. */
export const html = htm.bind(h) as (strings: TemplateStringsArray, ...values: unknown[]) => VNode
