export type GpuModel = {
  model: string
  vendor: string | null
  aliases: readonly string[]
  /** Of one GPU, ascending; empty where it is not known. */
  memoryGb: readonly number[]
  /** Tensor, dense, with FP32 accumulate; `null` where it is not known. */
  fp16Tflops: number | null
  variants: readonly GpuVariant[]
}

/** `null` is as the model has it. */
export type GpuVariant = {
  name: string
  /** The words of a text that mean it. */
  words: readonly string[]
  memoryGb: readonly number[] | null
  fp16Tflops: number | null
}

/** Models by every name that they have. */
export type NameIndex = {
  /** By `nameKey()`. */
  byKey: ReadonlyMap<string, GpuModel>
  /** Parts of the longest name. */
  longest: number
}
