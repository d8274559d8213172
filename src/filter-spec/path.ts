/** One step of a compiled path: a member's name, an array index (negative counts from the end), or every element. */
export type Step = { kind: 'member'; name: string } | { kind: 'index'; index: number } | { kind: 'every' }

export type Path = readonly Step[]
