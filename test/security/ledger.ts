/** Everything that was said in a run, and what must not have been. */
export class Ledger {
  readonly #secrets = new Map<string, string>()
  readonly #said: { where: string; text: string }[] = []

  /** @param secret must not appear, in any of its forms */
  keep(name: string, secret: string): string {
    if (secret.length < LEAST_LENGTH) throw new Error(`${name} could be part of anything`)
    this.#secrets.set(name, secret)
    return secret
  }

  hear(where: string, text: string): void {
    this.#said.push({ where, text })
  }

  /** How many texts were heard, and how long they are together. */
  get heard(): { texts: number; characters: number } {
    return {
      texts: this.#said.length,
      characters: this.#said.reduce((sum, { text }) => sum + text.length, 0),
    }
  }

  /** Which secret was said where, with the words around it. */
  leaks(): string[] {
    const forms = [...this.#secrets].flatMap(([name, secret]) =>
      formsOf(secret).map((form) => [name, form] as const),
    )
    return this.#said.flatMap(({ where, text }) =>
      forms.flatMap(([name, form]) => {
        const at = text.indexOf(form)
        return at < 0 ? [] : [`${name} in ${where}: …${text.slice(Math.max(0, at - 60), at)}[HERE]`]
      }),
    )
  }
}

const LEAST_LENGTH = 12

/** As it is, as a URL or JSON has it, and encoded as a header of HTTP or a log could have it. */
const formsOf = (secret: string): string[] => [
  ...new Set([
    secret,
    secret.toLowerCase(),
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
    Buffer.from(secret).toString('base64').replace(/=+$/, ''),
    Buffer.from(secret).toString('base64url'),
    Buffer.from(secret).toString('hex'),
  ]),
]
