import { useQuery } from '@tanstack/react-query';
import { answer, Problem } from '../../api/answer.ts';
import { useChange } from '../../api/change.ts';
import { admin } from '../../api/client.ts';
import { useMayChange } from '../../api/session.ts';
import { FieldsForm } from '../../resource/editor.tsx';
import type { Field, Values } from '../../resource/field.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmedButton } from '../../ui/confirmed.tsx';
import { CopyText } from '../../ui/copy-text.tsx';
import { ago } from '../../ui/format.ts';
import { Failed, Panel, Tag } from '../../ui/parts.tsx';
import { type Feedback as Stored, feedbackQuery } from './queries.ts';

/** The address at which the provider reports bounces and complaints. */
export function Feedback() {
  const mayChange = useMayChange();
  const feedback = useQuery(feedbackQuery);
  const show = useChange({ run: () => answer(admin.PUT('/v1/messages/feedback', { body: {} })), quiet: true });
  const rotate = useChange({
    run: () => answer(admin.PUT('/v1/messages/feedback', { body: { rotate: true } })),
    done: 'The address is replaced. Enter the new one at the provider.',
  });
  const remove = useChange({
    run: () => answer(admin.DELETE('/v1/messages/feedback')),
    done: 'The address is deleted.',
  });
  const stored = feedback.data;
  if (stored === undefined) return feedback.isError ? <Failed error={feedback.error} /> : null;
  const url = stored === null ? undefined : (rotate.data ?? show.data)?.url;
  return (
    <Panel
      title="Bounces and complaints"
      className="max-w-3xl"
      actions={
        stored !== null && (
          <Tag tone={stored.received === null ? 'plain' : 'good'}>
            {stored.received === null ? 'no report yet' : `last report ${ago(stored.received)}`}
          </Tag>
        )
      }
    >
      <div className="flex flex-col gap-3">
        <p>
          Your provider learns later that an address does not exist, or that a user calls an e-mail spam. It can report
          this to an address of Laurel, which then suppresses the user’s address.
        </p>
        {url !== undefined && (
          <div className="flex flex-col gap-1">
            <CopyText label="Address for reports">{url}</CopyText>
            <p className="text-xs text-muted">
              Enter it at your provider, for deliveries, bounces and complaints. It is a secret: everyone who knows it
              can report bounces.
            </p>
          </div>
        )}
        {mayChange && (
          <div className="flex flex-wrap gap-2">
            {url === undefined && (
              <Button
                look={stored === null ? 'primary' : 'plain'}
                disabled={show.isPending}
                onClick={() => show.mutate()}
              >
                {stored === null ? 'Create the address' : 'Show the address'}
              </Button>
            )}
            {stored !== null && (
              <>
                <ConfirmedButton
                  change={rotate}
                  title="Replace the address?"
                  action="Replace"
                  about="The present address ends at once. Reports are lost until your provider has the new one."
                >
                  Replace
                </ConfirmedButton>
                <ConfirmedButton
                  look="bare"
                  change={remove}
                  title="Delete the address?"
                  action="Delete"
                  about="Bounces and complaints have no effect any longer. Suppressed addresses stay."
                >
                  Delete
                </ConfirmedButton>
              </>
            )}
          </div>
        )}
        {show.error !== null && <Failed error={show.error} />}
        {stored !== null && <Format key={JSON.stringify(stored.format)} of={stored} />}
      </div>
    </Panel>
  );
}

const FORMAT: readonly Field[] = [
  {
    name: 'format',
    label: 'Where a report has what',
    input: 'json',
    hint: 'JSON Pointers, such as /event, and the values that mean delivered, bounced and complained. The page “Bounces and complaints” of the documentation explains each field.',
    required: true,
  },
];

const Format = ({ of: { format } }: { of: Stored }) => (
  <details>
    <summary className="cursor-pointer text-accent">Shape of the provider’s reports</summary>
    <div className="mt-2">
      <FieldsForm
        fields={FORMAT}
        item={{ format }}
        save={async (sent: Values) => {
          try {
            await answer(admin.PUT('/v1/messages/feedback', { body: sent as { format: Stored['format'] } }));
          } catch (error) {
            throw error instanceof Problem ? new Problem(error.status, error.message) : error;
          }
        }}
        done="The shape is saved."
      />
    </div>
  </details>
);
