import type { Item } from '../domain/source/item.ts'
import { isSignableJson } from '../signing/canonical-json.ts'
import { readPublisher } from '../signing/principal.ts'

/** Whether readers of the signed line may have the copy: its publisher is known, and its JSON can be signed. */
export function isSignable({ publisher, bytes }: Pick<Item, 'publisher' | 'bytes'>): boolean {
  return publisher !== null && readPublisher(publisher) !== null && isSignableJson(bytes)
}
