/** Removes fields that are `null` or `undefined`. */
export const present = <T extends object>(fields: { [N in keyof T]: T[N] | null | undefined }): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined)) as T;
