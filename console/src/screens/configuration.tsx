import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { answer, Problem } from '../api/answer.ts';
import { useChange } from '../api/change.ts';
import { admin } from '../api/client.ts';
import type { AdminRead } from '../api/queries.ts';
import type { paths } from '../../generated/admin.ts';
import { useMayChange } from '../api/session.ts';
import { Button } from '../ui/button.tsx';
import { ConfirmedButton } from '../ui/confirmed.tsx';
import { Empty, Failed, Panel, Screen, Tag, Waiting } from '../ui/parts.tsx';

type Document = AdminRead<'/v1/configuration'>;
type Difference = paths['/v1/configuration/diff']['post']['responses'][200]['content']['application/json'];

const TONES = { create: 'good', update: 'warn', delete: 'bad' } as const;

function parsed(text: string): Document {
  try {
    return JSON.parse(text) as Document;
  } catch (error) {
    throw new Problem(0, `The document is not valid JSON: ${(error as Error).message}`);
  }
}

/** The configuration as one document, with a preview of the changes of another one before it is applied. */
export function Configuration() {
  const current = useQuery({
    queryKey: ['configuration'],
    queryFn: () => answer(admin.GET('/v1/configuration')),
  });
  return (
    <Screen
      title="Configuration"
      about="The whole configuration as one JSON document that names resources by key. Edit or paste one, compare it, then apply it."
    >
      {current.isPending && <Waiting />}
      {current.isError && <Failed error={current.error} />}
      {current.data && <Edited key={JSON.stringify(current.data)} document={JSON.stringify(current.data, null, 2)} />}
    </Screen>
  );
}

function Edited({ document }: { document: string }) {
  const mayChange = useMayChange();
  const [text, setText] = useState(document);
  const [difference, setDifference] = useState<Difference | null>(null);
  const compare = useChange({
    run: async () => setDifference(await answer(admin.POST('/v1/configuration/diff', { body: parsed(text) }))),
    quiet: true,
  });
  const apply = useChange({
    run: () => answer(admin.PUT('/v1/configuration', { body: parsed(text) })),
    done: 'The configuration is applied.',
    quiet: true,
  });
  const error = compare.error ?? apply.error;
  const edit = (next: string): void => {
    setText(next);
    setDifference(null);
  };
  return (
    <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_22rem]">
      <div className="flex min-w-0 flex-col gap-2">
        <textarea
          aria-label="Configuration document"
          spellCheck={false}
          value={text}
          onChange={({ target }) => edit(target.value)}
          className="h-[60dvh] w-full resize-y rounded-lg border border-line-strong bg-surface p-3 font-mono text-xs leading-5"
        />
        <div className="flex flex-wrap gap-2">
          <Button disabled={compare.isPending} onClick={() => compare.mutate()}>
            Compare
          </Button>
          {difference !== null && difference.changes.length > 0 && (
            <ConfirmedButton
              look="primary"
              change={apply}
              title="Apply the document?"
              action="Apply"
              about={`Makes ${difference.changes.length} changes at once. What the document lacks is deleted.`}
            >
              Apply
            </ConfirmedButton>
          )}
          {text !== document && (
            <Button look="bare" onClick={() => edit(document)}>
              Undo my edits
            </Button>
          )}
        </div>
        {error && <Failed error={error} />}
      </div>
      <Panel title="Changes">
        {difference === null && (
          <p className="text-muted">
            {mayChange
              ? 'Edit or paste a document, then compare it with the configuration.'
              : 'Paste a document, then compare it with the configuration.'}
          </p>
        )}
        {difference?.changes.length === 0 && <Empty title="No changes: the document equals the configuration" />}
        <ul className="flex flex-col gap-2">
          {difference?.changes.map(({ action, kind, name, before, after, fields }, index) => (
            <li key={index}>
              <Tag tone={TONES[action]}>{action}</Tag> {kind.replaceAll('_', ' ')} <strong>{name}</strong>
              {action === 'update' &&
                fields?.map((field) => (
                  <span key={field} className="block pl-2 text-xs break-words text-muted">
                    {field}: {JSON.stringify(before?.[field])} → {JSON.stringify(after?.[field])}
                  </span>
                ))}
            </li>
          ))}
        </ul>
      </Panel>
    </div>
  );
}
