import { useState } from 'react';
import { answer } from '../../api/answer.ts';
import { useChange } from '../../api/change.ts';
import { admin } from '../../api/client.ts';
import { useMayChange } from '../../api/session.ts';
import { Button } from '../../ui/button.tsx';
import { Labelled, TextInput } from '../../ui/fields.tsx';
import { Failed, Panel } from '../../ui/parts.tsx';
import { DeviceInput, type Devices } from './device-input.tsx';
import { type Draft, type Place, sentOf } from './draft.ts';
import { TestResults } from './test-result.tsx';
import { pushTestWords, testWords } from './words.ts';

interface SendTestProps {
  place: Place;
  draft: Draft;
  /** The user with the figures. */
  userId: string;
  /** Whether the draft can be rendered. */
  isReady: boolean;
}

/** Sends the draft with the user's figures to the administrator. */
export function SendTest({ place: { medium, kind }, draft, userId, isReady }: SendTestProps) {
  const mayChange = useMayChange();
  const [to, setTo] = useState('');
  const [devices, setDevices] = useState<Devices>({ by: 'user', value: '' });
  const test = useChange({
    run: async () => {
      const body = { userId, kind, template: sentOf(draft) };
      if (medium === 'email') {
        const { outcome, reason } = await answer(admin.POST('/v1/messages/test', { body: { ...body, to } }));
        return [{ ...testWords(outcome, reason), reason }];
      }
      const target = devices.by === 'user' ? { toUserId: devices.value } : { token: devices.value };
      const sent = await answer(admin.POST('/v1/messages/test/push', { body: { ...body, ...target } }));
      return sent.devices.map(({ outcome, reason }) => ({ ...pushTestWords(outcome, reason), reason }));
    },
    quiet: true,
  });
  if (!mayChange) return null;
  return (
    <Panel title="Send a test">
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          test.mutate();
        }}
      >
        <p className="text-muted">
          As in the preview, also before you save. It begins with <strong>[Test]</strong>, and it is in no log of
          messages.
        </p>
        {medium === 'email' ? (
          <Labelled label="Your address">
            <TextInput
              type="email"
              required
              autoComplete="email"
              placeholder="you@example.com"
              value={to}
              onChange={({ target }) => setTo(target.value)}
            />
          </Labelled>
        ) : (
          <DeviceInput of={devices} onChange={setDevices} />
        )}
        <Button type="submit" className="self-start" disabled={test.isPending || !isReady}>
          {test.isPending ? 'Sending …' : 'Send a test'}
        </Button>
        <TestResults of={test.data ?? []} />
        {test.error !== null && <Failed error={test.error} />}
      </form>
    </Panel>
  );
}
