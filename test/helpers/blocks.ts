import { ADMIN, type RunningService, send } from './registry.ts'
import { postJson } from './seller.ts'

/** The id of a new block. */
export async function block(service: RunningService, body: object): Promise<number> {
  const answer = await postJson(
    `${service.url}/admin/blocks`,
    JSON.stringify({ reason: 'spam', ...body }),
    ADMIN,
  )
  if (answer.status !== 201) throw new Error(answer.text)
  return Number(answer.json().id)
}

export const unblock = ({ url }: RunningService, id: number) =>
  send(`${url}/admin/blocks/${id}`, { method: 'DELETE', headers: ADMIN })
