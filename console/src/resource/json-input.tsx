import { useState } from 'react';
import { Labelled, TextArea } from '../ui/fields.tsx';
import { type InputOf, isEmpty } from './field.ts';

/** The value of a text; the text itself if it is not JSON, which the server refuses. */
function parsed(text: string): unknown {
  if (text.trim() === '') return '';
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const textOf = (value: unknown): string => (isEmpty(value) ? '' : JSON.stringify(value, null, 2));

/** A value as JSON. */
export function JsonInput({ label, hint, value, onChange, problem }: InputOf<unknown>) {
  const [typed, setTyped] = useState(() => textOf(value));
  // What is stored may be read again while nothing is typed.
  const text = textOf(parsed(typed)) === textOf(value) ? typed : textOf(value);
  const change = (next: string): void => {
    setTyped(next);
    onChange(parsed(next));
  };
  const isOpen = typeof value === 'string' && value !== '';
  return (
    <Labelled label={label} hint={hint} problem={isOpen ? 'This is not JSON yet.' : problem}>
      <TextArea
        rows={Math.min(20, Math.max(4, text.split('\n').length))}
        spellCheck={false}
        className="font-mono text-xs"
        value={text}
        onChange={({ target }) => change(target.value)}
      />
    </Labelled>
  );
}
