// SPDX-License-Identifier: Apache-2.0
// Node.js worker threads that parse a public key from PEM, as a server does that checks tokens. Node
// parses with OpenSSL 3, whose decoders take dozens of rwlocks for each key.
'use strict';

const { createPublicKey, generateKeyPairSync } = require('node:crypto');
const { parseArgs } = require('node:util');
const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');

const WAITING = 0;
const RUNNING = 1;
const STOPPED = 2;

function fail(message) {
  console.error(`node_pem: ${message}`);
  process.exit(1);
}

function numberOption(name, text, least, most) {
  const number = Number(text);
  if (text.trim() === '' || !(number >= least && number <= most)) {
    fail(`--${name} must be a number from ${least} to ${most}, not '${text}'`);
  }
  return number;
}

function settings() {
  const options = {
    threads: { type: 'string', default: '2' },
    seconds: { type: 'string', default: '1' },
    help: { type: 'boolean' },
  };
  let values;
  try {
    values = parseArgs({ options }).values;
  } catch (error) {
    fail(`${error.message}; the options are --threads N and --seconds S`);
  }
  if (values.help) {
    console.log('Usage: node node_pem.js [--threads N] [--seconds S]\n' +
                'Worker threads parse a PEM public key; an operation is one key.');
    process.exit(0);
  }
  const threads = numberOption('threads', values.threads, 1, 256);
  if (!Number.isInteger(threads)) fail(`--threads must be a whole number, not '${values.threads}'`);
  return { threads, seconds: numberOption('seconds', values.seconds, 0.01, 3600) };
}

function work({ phase, pem }) {
  const expected = createPublicKey(pem);
  parentPort.postMessage('ready');
  Atomics.wait(phase, 0, WAITING);
  let operations = 0;
  while (Atomics.load(phase, 0) === RUNNING) {
    if (!createPublicKey(pem).equals(expected)) throw new Error('the key changed in parsing');
    ++operations;
  }
  parentPort.postMessage(operations);
}

async function main() {
  const { threads, seconds } = settings();
  const pem = generateKeyPairSync('rsa', { modulusLength: 2048 })
    .publicKey.export({ type: 'spki', format: 'pem' });
  const phase = new Int32Array(new SharedArrayBuffer(4));
  const enter = (next) => {
    Atomics.store(phase, 0, next);
    Atomics.notify(phase, 0);
  };

  const workers = Array.from({ length: threads }, () =>
    new Worker(__filename, { workerData: { phase, pem } }).on('error', (e) => fail(e.message)));
  const messages = () => Promise.all(workers.map((worker) =>
    new Promise((resolve) => { worker.once('message', resolve); })));

  await messages();
  const counts = messages();
  const start = process.hrtime.bigint();
  enter(RUNNING);
  await new Promise((resolve) => { setTimeout(resolve, seconds * 1000); });
  enter(STOPPED);
  const operations = (await counts).reduce((sum, count) => sum + count, 0);
  const elapsed = Number(process.hrtime.bigint() - start) / 1e9;
  console.log(`node_pem: ${Math.round(operations / elapsed)} operations per second`);
}

if (isMainThread) main();
else work(workerData);
