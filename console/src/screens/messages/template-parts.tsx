import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useMayChange } from '../../api/session.ts';
import { Button } from '../../ui/button.tsx';
import { Labelled, TextArea, TextInput } from '../../ui/fields.tsx';
import type { Draft, Part } from './draft.ts';
import { PLACEHOLDER_URL, textOf } from './starters.ts';

export type Input = HTMLInputElement | HTMLTextAreaElement;

interface PartsProps {
  draft: Draft;
  problems: Partial<Record<Part, string>>;
  /** The attributes of a part's input. */
  inputOf: (part: Part) => {
    value: string;
    ref: (input: Input | null) => void;
    onChange: (event: { target: Input }) => void;
  };
  insertions: ReactNode;
}

type EmailPartsProps = PartsProps & { write: (text: string) => void };

/** The parts of an e-mail. */
export function EmailParts({ draft, problems, inputOf, insertions, write }: EmailPartsProps) {
  return (
    <>
      <Labelled label="Subject" problem={problems.subject}>
        <TextInput {...inputOf('subject')} aria-invalid={problems.subject !== undefined} />
      </Labelled>
      {insertions}
      <Labelled label="HTML" hint="What most users see. Links begin with https://." problem={problems.html}>
        <TextArea
          {...inputOf('html')}
          rows={14}
          className="font-mono text-xs"
          aria-invalid={problems.html !== undefined}
        />
      </Labelled>
      <NeedsAddress of={draft.html} />
      <Labelled label="Text" hint="The same for readers without HTML." problem={problems.text}>
        <TextArea {...inputOf('text')} rows={8} aria-invalid={problems.text !== undefined} />
      </Labelled>
      {useMayChange() && (
        <Button className="self-start" onClick={() => write(textOf(draft.html))}>
          Write the text from the HTML
        </Button>
      )}
    </>
  );
}

/** The parts of a push notification. */
export const PushParts = ({ draft, problems, inputOf, insertions }: PartsProps) => (
  <>
    <Labelled label="Title" hint="One line. Phones show about 40 characters." problem={problems.title}>
      <TextInput {...inputOf('title')} aria-invalid={problems.title !== undefined} />
    </Labelled>
    {insertions}
    <Labelled label="Text" hint="Phones show about 150 characters, and the rest on demand." problem={problems.body}>
      <TextArea {...inputOf('body')} rows={4} aria-invalid={problems.body !== undefined} />
    </Labelled>
    <Labelled
      label="What a tap opens"
      hint="A link that begins with https://, or with the scheme of your app, such as myapp://. Empty: the app."
      problem={problems.url}
    >
      <TextInput {...inputOf('url')} aria-invalid={problems.url !== undefined} />
    </Labelled>
    <NeedsAddress of={draft.url} />
  </>
);

const NeedsAddress = ({ of }: { of: string }) =>
  of.includes(PLACEHOLDER_URL) && (
    <p className="rounded-md bg-warn-soft px-3 py-2 text-warn">
      Write the address of your app instead of <code>{PLACEHOLDER_URL}</code>. If the{' '}
      <Link to="/organisation" className="underline">
        branding
      </Link>{' '}
      has it, new templates begin with it.
    </p>
  );
