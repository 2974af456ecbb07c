const NAME_LENGTH = 200;

/**
 * Path of the first field of a parsed JSON body whose text matches, e.g. `user.id` or `[2].name`; for a matching key, the path of its object.
 * `null` if there is none, it is the body itself, or the path is too long to report. Works at any depth of nesting.
 */
export function fieldWith(body: unknown, isOne: (text: string) => boolean): string | null {
  const ahead: { value: unknown; path: string }[] = [{ value: body, path: '' }];
  for (let next = ahead.pop(); next !== undefined; next = ahead.pop()) {
    const { value, path } = next;
    if (typeof value === 'string') {
      if (isOne(value)) return namedPath(path);
    } else if (Array.isArray(value)) {
      for (let i = value.length - 1; i >= 0; i -= 1) ahead.push({ value: value[i] as unknown, path: `${path}[${i}]` });
    } else if (typeof value === 'object' && value !== null) {
      const fields = Object.entries(value);
      if (fields.some(([key]) => isOne(key))) return namedPath(path);
      for (const [key, inside] of fields.toReversed())
        ahead.push({ value: inside, path: path === '' ? key : `${path}.${key}` });
    }
  }
  return null;
}

const namedPath = (path: string): string | null => (path === '' || path.length > NAME_LENGTH ? null : path);
