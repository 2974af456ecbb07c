import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { answer } from '../../api/answer.ts';
import { admin } from '../../api/client.ts';
import { useSettled } from '../../api/use-settled.ts';
import { Button } from '../../ui/button.tsx';
import { Panel, Waiting } from '../../ui/parts.tsx';
import { UserInput } from '../../ui/user-input.tsx';
import { type Draft, type Place, sentOf } from './draft.ts';
import { PhoneShown } from './phone.tsx';
import type { EmailPreview, PushPreview } from './queries.ts';
import { SendTest } from './send-test.tsx';
import type { Look } from './starters.ts';
import type { Kind } from './words.ts';

/** A user with figures for a kind: for an achievement, who completed one last; otherwise any. `null` if there is none. */
function useSomebody(kind: Kind): string | null | undefined {
  return useQuery({
    queryKey: ['messages', 'somebody', kind === 'achievement_completed'],
    queryFn: async (): Promise<string | null> => {
      if (kind === 'achievement_completed') {
        const [latest] = await answer(admin.GET('/v1/activity/completions'));
        if (latest !== undefined) return latest.userId;
      }
      const users = await answer(admin.GET('/v1/users', { params: { query: { limit: 1, skip: 0 } } }));
      return users[0]?.id ?? null;
    },
    staleTime: Infinity,
  }).data;
}

interface PreviewProps {
  place: Place;
  draft: Draft;
  /** The draft has problems, which are shown at its fields. */
  isFaulty: boolean;
  look: Look;
}

const previewOf = async ({ medium, kind }: Place, userId: string, draft: Draft): Promise<Shown> => {
  const body = { userId, kind, template: sentOf(draft) };
  return medium === 'email'
    ? { medium, ...(await answer(admin.POST('/v1/messages/preview', { body }))) }
    : { medium, ...(await answer(admin.POST('/v1/messages/preview/push', { body }))) };
};

type Shown = ({ medium: 'email' } & EmailPreview) | ({ medium: 'push' } & PushPreview);

/** What a user would get, with the user's own figures, and a test of it. */
export function PreviewPanel({ place, draft, isFaulty, look }: PreviewProps) {
  const { medium, kind } = place;
  const somebody = useSomebody(kind);
  const [chosen, setChosen] = useState<string | null>(null);
  const user = chosen ?? somebody ?? '';
  const userId = useSettled(user);
  const preview = useQuery({
    queryKey: ['messages', 'preview', medium, kind, userId, draft],
    queryFn: () => previewOf(place, userId, draft),
    enabled: userId !== '' && !isFaulty,
    // While the template is edited, the previous preview stays; that of another user does not.
    placeholderData: (shown, before) => (before?.queryKey[4] === userId ? shown : undefined),
    retry: false,
  });
  if (somebody === undefined) return <Waiting of="fields" />;
  const isShown = preview.data !== undefined && !(preview.isError && !isFaulty);
  return (
    <div className="flex min-w-0 flex-col gap-4 lg:sticky lg:top-16">
      <Panel title="Preview">
        <div className="flex flex-col gap-3">
          <UserInput
            label="As this user gets it"
            hint="A user’s ID. Type the beginning of an ID or name to find users. Nothing is sent."
            problem={isFaulty ? undefined : problemOf(preview.error)}
            value={user}
            onChange={setChosen}
          />
          {isFaulty && <p className="text-warn">The preview follows when the problems of the template are solved.</p>}
          {user === '' && <p className="text-muted">Choose a user to see the message with that user’s figures.</p>}
          {isShown &&
            (preview.data.medium === 'email' ? (
              <EmailShown of={preview.data} />
            ) : (
              <PhoneShown of={preview.data} look={look} />
            ))}
        </div>
      </Panel>
      <SendTest place={place} draft={draft} userId={userId} isReady={isShown && !isFaulty} />
    </div>
  );
}

const SHAPES = { desktop: 'Desktop', phone: 'Phone', text: 'Text' } as const;

function EmailShown({ of: { subject, html, text } }: { of: EmailPreview }) {
  const [shape, setShape] = useState<keyof typeof SHAPES>('desktop');
  return (
    <>
      <div role="group" aria-label="Show as" className="flex flex-wrap gap-1">
        {Object.entries(SHAPES).map(([one, name]) => (
          <Button
            key={one}
            aria-pressed={one === shape}
            className="aria-pressed:border-transparent aria-pressed:bg-accent-soft aria-pressed:text-accent-strong"
            onClick={() => setShape(one as keyof typeof SHAPES)}
          >
            {name}
          </Button>
        ))}
      </div>
      <p className="break-words">
        <span className="text-muted">Subject: </span>
        <strong>{subject}</strong>
      </p>
      {shape === 'text' ? (
        <pre className="rounded-md border border-line bg-hover px-3 py-2 font-sans break-words whitespace-pre-wrap">
          {text}
        </pre>
      ) : (
        <iframe
          title="The e-mail"
          // No scripts, no forms, no way out: neither a new window nor the window around.
          sandbox=""
          srcDoc={documentOf(html)}
          className={`h-[26rem] max-w-full rounded-md border border-line bg-white ${shape === 'phone' ? 'w-[22.5rem] self-center' : 'w-full'}`}
        />
      )}
    </>
  );
}

/** Most errors of a preview are about its user. */
const problemOf = (error: Error | null): string | undefined => error?.message.replace(/^userId: /, '');

/** A document around an e-mail's HTML. Its links would open a window, which its frame forbids. */
const documentOf = (html: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><base target="_blank"><title>E-mail</title></head><body>${html}</body></html>`;
